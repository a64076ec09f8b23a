//! The command line.

const USAGE: &str = "usage: tests/bench [--quick] [NAME...]   (a NAME selects every measurement that begins with it)";

/// What to measure, and how thoroughly.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    names: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            quick: false,
            names: Vec::new(),
        };
        for argument in arguments {
            match argument.as_str() {
                "--quick" => options.quick = true,
                option if option.starts_with('-') => return Err(USAGE.to_owned()),
                _ => options.names.push(argument),
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
