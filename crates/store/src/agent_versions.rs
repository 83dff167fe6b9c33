//! Which versions agents have said that they are: asking one can take half a second.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::export::write_export;

/// More than any number of programs needs. A larger file was not written here.
const LARGEST: u64 = 64 * 1024;
/// More programs than a user has; a file that only grows would be too large one day.
const MOST: usize = 32;

/// The answers of programs, by their paths.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentVersions(BTreeMap<String, AgentVersion>);

/// What a program has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct AgentVersion {
    /// When the program was written, in milliseconds since 1970. Another program under the same path
    /// is asked again.
    pub modified: u64,
    pub bytes: u64,
    /// Milliseconds since 1970.
    pub asked_at: u64,
    /// Absent if it did not tell.
    pub version: Option<String>,
}

impl AgentVersions {
    /// What is remembered in a file. A file that cannot be read remembers nothing.
    pub fn load(path: &Path) -> AgentVersions {
        let is_reasonable =
            fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
        let read = is_reasonable.then(|| fs::read(path).ok()).flatten();
        read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// What the program answered when it was asked last.
    pub fn get(&self, program: &Path) -> Option<&AgentVersion> {
        self.0.get(program.to_str()?)
    }

    /// Remembers what the program has answered.
    pub fn set(&mut self, program: &Path, answer: AgentVersion) {
        let Some(program) = program.to_str() else { return };
        self.0.insert(program.to_owned(), answer);
        while self.0.len() > MOST {
            let oldest = self.0.iter().min_by_key(|(_, answer)| answer.asked_at);
            let Some(oldest) = oldest.map(|(program, _)| program.clone()) else { return };
            self.0.remove(&oldest);
        }
    }

    /// Writes the file anew. Of two programs that do so at once, one is forgotten and asks again.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        write_export(path, &text).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(asked_at: u64, version: Option<&str>) -> AgentVersion {
        AgentVersion { modified: 1, bytes: 2, asked_at, version: version.map(str::to_owned) }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("new/agent-versions.json");
        let mut versions = AgentVersions::load(&path);
        assert_eq!(versions, AgentVersions::default());
        versions.set(Path::new("/bin/pi"), answer(3, Some("1.5.0")));
        versions.set(Path::new("/bin/mute"), answer(4, None));
        versions.save(&path).unwrap();
        let loaded = AgentVersions::load(&path);
        assert_eq!(loaded, versions);
        assert_eq!(loaded.get(Path::new("/bin/pi")), Some(&answer(3, Some("1.5.0"))));
        for text in ["{", "[]", "{\"/bin/pi\": 1}"] {
            fs::write(&path, text).unwrap();
            assert_eq!(AgentVersions::load(&path), AgentVersions::default(), "{text}");
        }
    }

    #[test]
    fn the_oldest_answers_are_forgotten() {
        let mut versions = AgentVersions::default();
        for number in 0..40 {
            versions.set(Path::new(&format!("/bin/{number}")), answer(number, None));
        }
        assert_eq!(versions.0.len(), MOST);
        assert_eq!(versions.get(Path::new("/bin/7")), None);
        assert!(versions.get(Path::new("/bin/8")).is_some());
    }
}
