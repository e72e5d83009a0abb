//! Search in the log files of the service's processes.

use super::ChaosService;

impl ChaosService {
    /// Returns the log lines that contain one of the words, from all processes whose name begins with `called`.
    pub(crate) fn log_lines(&self, called: &str, words: &[&str]) -> String {
        let files = std::fs::read_dir(self.home.path());
        let mut found = String::new();
        for path in files
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.path())
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !name.starts_with(called) || !name.ends_with(".log") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let has_word = |line: &&str| words.iter().any(|word| line.contains(word));
            let lines = text.lines().filter(has_word);
            lines.for_each(|line| found += &format!("{name}: {line}\n"));
        }
        found
    }
}
