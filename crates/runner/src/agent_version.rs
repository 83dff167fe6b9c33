//! The version of an agent's program, for arguments that depend on it.
//!
//! pi takes half a second to print its version. So the package that it comes in is looked at first, which
//! takes no time, and an answer is remembered.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use model::paths::StateDir;
use process::{Exit, command_output};
use protocol::{Protocol, Version, VersionQuestion};
use store::{AgentVersion, AgentVersions};

const PATIENCE: Duration = Duration::from_secs(5);
const LARGEST_ANSWER: usize = 16 * 1024;
const LARGEST_PACKAGE: u64 = 256 * 1024;
/// How far below the directory of its package a program can be.
const DEEPEST: usize = 4;
/// How long an answer counts. The program of a version manager stays the same when the program behind
/// it becomes another.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The version of the program, if it can be known.
pub fn agent_version(question: &VersionQuestion<'_>) -> Option<Version> {
    // Node is started with the program as its first argument.
    let words = question.command.iter().take(2).map(Path::new);
    let mut files =
        words.filter(|word| word.is_absolute()).filter_map(|word| fs::canonicalize(word).ok());
    if let Some(version) = files.find_map(|file| in_package(&file, question.protocol)) {
        return Some(version);
    }
    let (program, arguments) = question.command.split_first().filter(|_| question.may_be_asked)?;
    let file = Path::new(program).is_absolute().then(|| Path::new(program))?;
    let found = Found::of(file)?;
    let remembered = StateDir::of_user(question.agent_dir).agent_versions();
    let mut versions = AgentVersions::load(&remembered);
    if let Some(answer) = versions.get(&found.path).filter(|answer| found.is_of(answer)) {
        return answer.version.as_deref().and_then(Version::parse);
    }
    let version = ask(program, arguments);
    versions.set(&found.path, found.answer(version));
    // Then it is asked again the next time.
    let _ = versions.save(&remembered);
    version
}

/// A program as it is now.
struct Found {
    path: PathBuf,
    modified: u64,
    bytes: u64,
    now: u64,
}

impl Found {
    fn of(file: &Path) -> Option<Found> {
        let path = fs::canonicalize(file).ok()?;
        let metadata = fs::metadata(&path).ok()?;
        let modified = since_1970(metadata.modified().ok()?);
        Some(Found { path, modified, bytes: metadata.len(), now: since_1970(SystemTime::now()) })
    }

    fn is_of(&self, answer: &AgentVersion) -> bool {
        let lifetime = u64::try_from(LIFETIME.as_millis()).unwrap_or(u64::MAX);
        // A clock can have been wrong.
        let is_fresh = self.now.checked_sub(answer.asked_at).is_some_and(|age| age < lifetime);
        (self.modified, self.bytes) == (answer.modified, answer.bytes) && is_fresh
    }

    fn answer(&self, version: Option<Version>) -> AgentVersion {
        let version = version.map(|version| version.to_string());
        AgentVersion { modified: self.modified, bytes: self.bytes, asked_at: self.now, version }
    }
}

fn since_1970(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The version in the nearest `package.json` above the file, if that describes the agent.
fn in_package(file: &Path, protocol: Protocol) -> Option<Version> {
    let directories = file.ancestors().skip(1).take(DEEPEST);
    let mut packages = directories.filter_map(|directory| {
        let mut json = Vec::new();
        let package = File::open(directory.join("package.json")).ok()?;
        package.take(LARGEST_PACKAGE).read_to_end(&mut json).ok()?;
        Some(json)
    });
    protocol.version_in_package(&packages.next()?)
}

fn ask(program: &str, arguments: &[String]) -> Option<Version> {
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.push("--version");
    let output = command_output(program, &arguments, PATIENCE, LARGEST_ANSWER).ok()?;
    if output.exit != Exit::Code(0) {
        return None;
    }
    let text = [output.stdout, output.stderr].concat();
    Version::parse(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn question<'a>(command: &'a [String], agent_dir: &'a Path) -> VersionQuestion<'a> {
        VersionQuestion { command, protocol: Protocol::Pi, may_be_asked: true, agent_dir }
    }

    fn text(path: &Path) -> String {
        path.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_package_of_a_program_says_its_version() {
        let top = tempfile::tempdir().unwrap();
        let package = top.path().join("lib/node_modules/@earendil-works/pi-coding-agent");
        fs::create_dir_all(package.join("dist")).unwrap();
        fs::create_dir(top.path().join("bin")).unwrap();
        let (script, link) = (package.join("dist/cli.js"), top.path().join("bin/pi"));
        // It cannot be started.
        fs::write(&script, "").unwrap();
        symlink(&script, &link).unwrap();
        let version = |words: &[&Path]| {
            let command: Vec<String> = words.iter().map(|word| text(word)).collect();
            agent_version(&question(&command, &top.path().join("agent")))
        };
        let write = |json: &str| fs::write(package.join("package.json"), json).unwrap();
        write(r#"{"name": "@earendil-works/pi-coding-agent", "version": "1.5.0"}"#);
        assert_eq!(version(&[&link]), Some(Version::new(1, 5, 0)));
        assert_eq!(version(&[Path::new("/usr/bin/env"), &script]), Some(Version::new(1, 5, 0)));
        write(r#"{"name": "@mariozechner/pi-coding-agent", "version": "0.73.0"}"#);
        assert_eq!(version(&[&link]), Some(Version::new(0, 73, 0)));
        for json in [r#"{"name": "another", "version": "9.9.9"}"#, "{", r#"{"version": "9.9.9"}"#] {
            write(json);
            assert_eq!(version(&[&link]), None, "{json}");
        }
    }

    #[test]
    fn relative_names_and_programs_of_the_user_are_not_asked() {
        let top = tempfile::tempdir().unwrap();
        let command = ["pi-that-is-not-there".to_owned()];
        assert_eq!(agent_version(&question(&command, top.path())), None);
        let command = ["/bin/sh".to_owned(), "-c".to_owned(), "echo 1.5.0".to_owned()];
        let own = VersionQuestion { may_be_asked: false, ..question(&command, top.path()) };
        assert_eq!(agent_version(&own), None);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0, "nothing is remembered");
    }

    #[test]
    fn a_program_is_asked_once_until_it_is_another() {
        let top = tempfile::tempdir().unwrap();
        let (asked, says) = (top.path().join("asked"), top.path().join("says"));
        let script = format!("echo x >> {}; cat {}", asked.display(), says.display());
        // `--version` becomes `$0`.
        let command = ["/bin/sh".to_owned(), "-c".to_owned(), script];
        let agent_dir = top.path().join("agent");
        let version = || agent_version(&question(&command, &agent_dir));
        let times = || fs::read_to_string(&asked).map_or(0, |text| text.lines().count());
        fs::write(&says, "pi 1.0.4\n").unwrap();
        assert_eq!((version(), times()), (Some(Version::new(1, 0, 4)), 1));
        assert_eq!((version(), times()), (Some(Version::new(1, 0, 4)), 1));
        // Another program under the same path, and an answer of long ago.
        let remembered = StateDir::of_user(&agent_dir).agent_versions();
        let mut expected_times = 1;
        let changes: [fn(&mut AgentVersion); 3] = [
            |answer| answer.bytes += 1,
            |answer| answer.modified += 1,
            |answer| answer.asked_at = 0,
        ];
        for change in changes {
            let mut versions = AgentVersions::load(&remembered);
            let shell = fs::canonicalize("/bin/sh").unwrap();
            let mut answer = versions.get(&shell).unwrap().clone();
            change(&mut answer);
            versions.set(&shell, answer);
            versions.save(&remembered).unwrap();
            fs::write(&says, "nothing of use").unwrap();
            expected_times += 1;
            // That it says nothing is remembered as well.
            assert_eq!((version(), times()), (None, expected_times));
            assert_eq!((version(), times()), (None, expected_times));
        }
    }
}
