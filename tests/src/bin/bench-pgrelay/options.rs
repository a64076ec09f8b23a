//! The command line.

const USAGE: &str = "usage: tests/bench [--quick] [NAME...]   (a NAME selects every measurement that begins with it)";

/// What to measure, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    names: Vec<String>,
}

impl Options {
    /// `known` are the names of all measurements.
    pub(crate) fn parse(
        arguments: impl Iterator<Item = String>,
        known: &[String],
    ) -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            names: Vec::new(),
        };
        for argument in arguments {
            match argument.as_str() {
                "--quick" => options.quick = true,
                option if option.starts_with('-') => return Err(USAGE.to_owned()),
                name if known.iter().any(|known| known.starts_with(name)) => {
                    options.names.push(argument);
                }
                name => return Err(format!("{name}? There are: {}", known.join(" "))),
            }
        }
        Ok(options)
    }

    /// Whether this measurement was asked for; all are when no name was given.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.starts_with(wanted))
    }

    /// The first number in a quick run, the second otherwise.
    pub(crate) fn scale<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// How often each thing is measured; the median counts.
    pub(crate) fn rounds(&self) -> usize {
        self.scale(1, 3)
    }
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let known = ["drain_noop".to_owned(), "enqueue_busy_8".to_owned()];
        Options::parse(
            arguments.iter().map(|argument| (*argument).to_owned()),
            &known,
        )
    }

    #[test]
    fn a_name_selects_what_begins_with_it() {
        let options = parse(&["--quick", "enqueue"]).unwrap();
        assert!(options.quick && options.wants("enqueue_busy_8") && !options.wants("drain_noop"));
        assert!(parse(&[]).unwrap().wants("drain_noop"));
    }

    #[test]
    fn what_is_unknown_is_refused() {
        assert!(parse(&["--slow"]).is_err());
        assert!(parse(&["drains"]).is_err());
    }
}
