//! The sandbox mode that the operator chooses.

use std::str::FromStr;

/// The operator's choice. No client and no model can change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Namespaces. Without them the worker does not start.
    #[default]
    Required,
    /// Landlock if there are no namespaces; without Landlock the worker does not start.
    AllowLandlocked,
    /// No confinement: commands run as the worker's own user. For development.
    Off,
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "required" => Ok(Self::Required),
            "allow-landlocked" => Ok(Self::AllowLandlocked),
            "off" => Ok(Self::Off),
            _ => Err("must be one of: required, allow-landlocked, off"),
        }
    }
}
