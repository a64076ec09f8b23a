//! A text of a document, which may stand for another one.

/// A text: as it is stored, and as it is meant.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    stored: &'a str,
    meant: &'a str,
}

impl<'a> Text<'a> {
    /// `stored` is a reference to `meant`, or the same.
    pub(super) const fn new(stored: &'a str, meant: &'a str) -> Self {
        Self { stored, meant }
    }

    /// What it stands for. Not to be quoted anywhere: it may be a secret.
    #[must_use]
    pub const fn expose(self) -> &'a str {
        self.meant
    }

    /// What may be shown: the text, or the reference.
    #[must_use]
    pub const fn shown(self) -> &'a str {
        self.stored
    }

    /// Whether it came from a variable.
    #[must_use]
    pub fn is_reference(self) -> bool {
        self.stored.starts_with("_env:") && !std::ptr::eq(self.stored, self.meant)
    }
}
