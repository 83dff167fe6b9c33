//! A file system with skills in it.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::{Skills, discover_skills};
use crate::{Surroundings, Trust};

pub(super) struct World {
    top: TempDir,
}

impl World {
    /// A user with an agent directory, and a repository with a project in it.
    pub(super) fn new() -> World {
        let world = World { top: tempfile::tempdir().unwrap() };
        for directory in ["home/agent", "home/repo/.git", "home/repo/project/.pi", "outside"] {
            fs::create_dir_all(world.at(directory)).unwrap();
        }
        world
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.top.path().join(path)
    }

    pub(super) fn write(&self, path: &str, contents: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    /// Writes a skill into `directory`.
    pub(super) fn skill(&self, directory: &str, name: &str) {
        let contents =
            format!("---\nname: {name}\ndescription: About {name}.\n---\n\nDo {name}.\n");
        self.write(&format!("{directory}/SKILL.md"), &contents);
    }

    pub(super) fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: Some(self.at("home")),
            ..Surroundings::new(self.at("home/repo/project"), self.at("home/agent"))
        }
    }

    pub(super) fn discover(&self, trust: Trust) -> Skills {
        discover_skills(&self.surroundings(), trust)
    }
}
