//! The exit codes of both daemons, in one table.

use std::process::ExitCode;

/// Why a process ended. The numbers follow sysexits(3) where it has a fitting one; the units list
/// those that a restart cannot cure in `RestartPreventExitStatus=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: everything held was finished, or the command did what was asked.
    Drained,
    /// 64: the command line is wrong.
    Usage,
    /// 69: the database cannot be reached or refused the login, and the command does not wait.
    DatabaseUnavailable,
    /// 70: a defect of this program.
    Bug,
    /// 76: the schema is missing or incompatible, or a needed grant is missing.
    PreflightBlocked,
    /// 77: privileges could not be dropped.
    PrivilegeDrop,
    /// 78: the configuration is wrong.
    Config,
}

impl Exit {
    /// All of them, for documentation.
    pub const ALL: [Self; 7] = [
        Self::Drained,
        Self::Usage,
        Self::DatabaseUnavailable,
        Self::Bug,
        Self::PreflightBlocked,
        Self::PrivilegeDrop,
        Self::Config,
    ];

    /// What it means to whoever started the process, in one line.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Drained => {
                "It did what was asked; a service was told to stop and has finished what it held."
            }
            Self::Usage => "The command line is wrong.",
            Self::DatabaseUnavailable => {
                "The database cannot be reached or refused the login. A service keeps trying instead."
            }
            Self::Bug => "A defect of the program.",
            Self::PreflightBlocked => {
                "A schema, table, column, type or grant that is needed is missing or will not do."
            }
            Self::PrivilegeDrop => "Started as root, it could not become the service account.",
            Self::Config => "The configuration is wrong.",
        }
    }

    /// The number the parent process sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Drained => 0,
            Self::Usage => 64,
            Self::DatabaseUnavailable => 69,
            Self::Bug => 70,
            Self::PreflightBlocked => 76,
            Self::PrivilegeDrop => 77,
            Self::Config => 78,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_numbers_are_those_the_units_and_scripts_rely_on() {
        let table = [
            (Exit::Drained, 0),
            (Exit::Usage, 64),
            (Exit::DatabaseUnavailable, 69),
            (Exit::Bug, 70),
            (Exit::PreflightBlocked, 76),
            (Exit::PrivilegeDrop, 77),
            (Exit::Config, 78),
        ];
        for (exit, code) in table {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }
}
