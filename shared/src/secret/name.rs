//! Names of secrets.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest name in characters.
const MAX_CHARS: usize = 64;

/// Environment variables that the sandbox sets or that control shells, loaders and programs.
const RESERVED: [&str; 3] = [
    // Variables of the sandbox and of sessions in general.
    "PATH HOME LANG LANGUAGE TZ TZDIR TERM TERMCAP TERMINFO TMPDIR TMP TEMP PWD OLDPWD SHELL USER LOGNAME MAIL HOSTNAME",
    // Variables that bash reads or sets.
    "BASH BASHOPTS BASHPID CDPATH DIRSTACK ENV EUID EXECIGNORE FIGNORE FUNCNAME FUNCNEST GLOBIGNORE GROUPS IFS LINENO \
     OPTARG OPTERR OPTIND PIPESTATUS POSIXLY_CORRECT PPID PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 RANDOM REPLY SECONDS \
     SHELLOPTS SHLVL SRANDOM TIMEFORMAT TMOUT UID",
    // Variables that make programs load or start something else.
    "BROWSER CURL_CA_BUNDLE CURL_HOME EDITOR GCONV_PATH JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS LESSOPEN MAKEFLAGS \
     NODE_EXTRA_CA_CERTS NODE_OPTIONS NODE_PATH OPENSSL_CONF OPENSSL_MODULES PAGER REQUESTS_CA_BUNDLE RUBYLIB RUBYOPT \
     SSL_CERT_DIR SSL_CERT_FILE VISUAL",
];
const RESERVED_BEGINNINGS: [&str; 12] = [
    "BASH_",
    "DYLD_",
    "GIT_",
    "GLIBC_",
    "LC_",
    "LD_",
    "MALLOC_",
    "PERL5",
    "PYTHON",
    "READLINE_",
    "SKILLET_",
    "XDG_",
];
const RESERVED_ENDING: &str = "_PROXY";

/// The name of a secret. It is also the name of the environment variable that contains the value.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(try_from = "String")]
#[sqlx(transparent)]
#[schema(value_type = String, example = "SUPABASE_KEY", pattern = "^[A-Z][A-Z0-9_]{0,63}$")]
pub struct SecretName(String);

/// The reason why a text is not a valid name of a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretNameError {
    /// The text is not a valid variable name.
    #[error(
        "a secret's name must begin with a capital letter and have at most {MAX_CHARS} capital letters, digits and underscores"
    )]
    Form,
    /// The variable has another meaning already.
    #[error(
        "a secret cannot be named `{0}`, which is reserved: shells, loaders or programs read this variable (like PATH, \
         LANG, LD_*, GIT_*, PYTHON* and *_PROXY); use a name that only your skill reads, e.g. APP_{0}"
    )]
    Reserved(String),
}

impl SecretName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, SecretNameError> {
        let is_capital = |byte: u8| byte.is_ascii_uppercase();
        let may_follow = |byte: u8| is_capital(byte) || byte.is_ascii_digit() || byte == b'_';
        let is_variable = text.len() <= MAX_CHARS
            && text.bytes().next().is_some_and(is_capital)
            && text.bytes().all(may_follow);
        if !is_variable {
            return Err(SecretNameError::Form);
        }
        let mut reserved = RESERVED.iter().flat_map(|names| names.split(' '));
        let is_reserved = reserved.any(|name| name == text)
            || RESERVED_BEGINNINGS
                .iter()
                .any(|beginning| text.starts_with(beginning))
            || text.ends_with(RESERVED_ENDING);
        if is_reserved {
            return Err(SecretNameError::Reserved(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SecretName {
    type Error = SecretNameError;

    fn try_from(text: String) -> Result<Self, SecretNameError> {
        Self::parse(&text)
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_variable_that_means_nothing_yet() {
        let long = "A".repeat(64);
        for good in [
            "A",
            "API_KEY",
            "S3_",
            "X9",
            "HOME_2",
            "PROXY",
            "NODE_AUTH_TOKEN",
            &long,
        ] {
            assert_eq!(SecretName::parse(good).unwrap().as_str(), good);
        }
        let longer = "A".repeat(65);
        for bad in [
            "", "a", "Key", "_KEY", "9A", "A-B", "A B", "Ä", "A\0", "A=B", &longer,
        ] {
            assert_eq!(
                SecretName::parse(bad),
                Err(SecretNameError::Form),
                "{bad:?}"
            );
        }
        for taken in [
            "PATH",
            "IFS",
            "LD_PRELOAD",
            "BASH_ENV",
            "HTTPS_PROXY",
            "NO_PROXY",
            "PYTHONPATH",
            "GIT_SSH_COMMAND",
            "SKILLET_MASTER_KEY",
        ] {
            let error = SecretName::parse(taken).unwrap_err();
            assert!(error.to_string().contains(taken), "{error}");
            assert_eq!(error, SecretNameError::Reserved(taken.to_owned()));
        }
    }
}
