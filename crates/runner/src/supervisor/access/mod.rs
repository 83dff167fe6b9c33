//! What a run may change: the paths of its access, made ready for the child, and cleared up after it.

mod repository;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::paths::OUTPUTS;
use model::{Access, AccessPaths, Meta, Mirror};
use process::{
    Confinement, NoLandlock, ReadOnlyPathError, ReadOnlyPaths, WritablePathError, WritablePaths,
};
use protocol::Protocol;
use store::{RunDir, StoreError, TemporaryDir};

use repository::{Repository, remove_redirection};

/// Where programs put temporary files.
const TEMPORARY: &str = "TMPDIR";

/// Why a run cannot be kept within its access, so that it must not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    #[error("access \"{}\" cannot be enforced here: {reason}", access.word())]
    NoLandlock { access: Access, reason: NoLandlock },
    #[error(transparent)]
    Path(#[from] WritablePathError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the directory of the task, {}, cannot be read: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("the repository of the task cannot be prepared: {0}")]
    Repository(io::Error),
    #[error(
        "access \"workspace\" cannot be enforced in {}: the settings of agents are there, in {}. \
         Let the task work in another directory",
        directory.display(),
        settings.display()
    )]
    SettingsInside { directory: PathBuf, settings: PathBuf },
}

/// What holds a restricted child within its access.
#[derive(Debug)]
pub(crate) struct Bounds {
    writable: WritablePaths,
    read_only: ReadOnlyPaths,
    /// Files, and where they are mounted for the child.
    mounted_files: Vec<(PathBuf, PathBuf)>,
    /// Why there are no mounts, if there are none.
    no_mounts: Option<String>,
    temporary: TemporaryDir,
    redirections: Vec<PathBuf>,
    /// The settings of git, as they were at the start.
    settings: Vec<(PathBuf, Vec<u8>)>,
    /// Variables that the child needs.
    pub(crate) environment: BTreeMap<String, Option<String>>,
    /// What the user should know about the access.
    pub(crate) warnings: Vec<String>,
}

impl Bounds {
    /// Prepares the bounds of a run; none if it may change everything, or if its agent is on another machine, which keeps it
    /// within its access there.
    pub(crate) fn prepare(meta: &Meta, dir: &RunDir) -> Result<Option<Bounds>, AccessError> {
        let access = meta.access;
        let is_relayed = Protocol::of(meta.protocol.as_deref()).is_some_and(Protocol::is_relayed);
        if access == Access::Full || is_relayed {
            return Ok(None);
        }
        let no_paths = AccessPaths::default();
        let paths = meta.access_paths.as_deref().unwrap_or(&no_paths);
        let writable =
            WritablePaths::new().map_err(|reason| AccessError::NoLandlock { access, reason })?;
        let mut bounds = Bounds {
            writable,
            read_only: ReadOnlyPaths::default(),
            mounted_files: Vec::new(),
            no_mounts: None,
            temporary: TemporaryDir::create(&paths.temporary)?,
            redirections: Vec::new(),
            settings: Vec::new(),
            environment: BTreeMap::new(),
            warnings: Vec::new(),
        };
        match bounds.make_places(paths, dir).and_then(|()| bounds.allow(meta, dir)) {
            Ok(()) => Ok(Some(bounds)),
            Err(error) => {
                let _ = bounds.temporary.remove();
                Err(error)
            }
        }
    }

    /// Shows the child some files of its mirror themselves, for which links are not enough.
    fn mount_files(&mut self, mirror: &Mirror, place: &Path) -> Result<(), AccessError> {
        for name in &mirror.mounted {
            let file = fs::canonicalize(mirror.directory.join(name));
            let Some(file) = file.ok().filter(|file| file.is_file()) else { continue };
            let point = mirrored(mirror, place).join(name);
            if !point.is_symlink() {
                continue;
            }
            self.temporary.make_mount_point(&point)?;
            let point = fs::canonicalize(&point).unwrap_or(point);
            self.read_only.show(&file, &point);
            self.mounted_files.push((file, point));
        }
        Ok(())
    }

    /// What the child is started with.
    pub(crate) fn confinement(&self) -> Confinement<'_> {
        let read_only = Some(&self.read_only).filter(|paths| !paths.is_empty());
        Confinement { writable: Some(&self.writable), read_only, ..Confinement::default() }
    }

    /// Does without mounts if the system permits none, and returns whether it does: a child that could
    /// not be started may start now. To ask first would cost every run another process.
    pub(crate) fn give_up_mounts(
        &mut self,
        meta: &Meta,
        dir: &RunDir,
    ) -> Result<bool, AccessError> {
        if self.read_only.is_empty() {
            return Ok(false);
        }
        let Err(error) = ReadOnlyPaths::probe() else { return Ok(false) };
        self.no_mounts = Some(format!("this system permits no mounts of its own: {error}"));
        self.read_only = ReadOnlyPaths::default();
        self.warnings.clear();
        for (file, point) in self.mounted_files.drain(..) {
            // An agent that ran before may have put anything there.
            if !is_untouched(&point) {
                continue;
            }
            self.temporary.make_link(&file, &point)?;
            self.warnings.push(format!(
                "{} cannot be mounted for the agent, and pi since 1.5.1 finds no keys in it: {error}",
                file.display()
            ));
        }
        let access = meta.access;
        self.writable =
            WritablePaths::new().map_err(|reason| AccessError::NoLandlock { access, reason })?;
        self.redirections.clear();
        self.settings.clear();
        self.allow(meta, dir)?;
        Ok(true)
    }

    /// Clears up when nothing of the run is left. Returns what the user should know.
    pub(crate) fn release(self) -> Vec<String> {
        let mut warnings = Vec::new();
        for path in &self.redirections {
            match remove_redirection(path) {
                Ok(true) => warnings.push(format!(
                    "The agent made {}, which can tell git what to run. It was removed.",
                    path.display()
                )),
                Ok(false) => {}
                Err(error) => warnings.push(format!(
                    "The agent made {}, which can tell git what to run, and it could not be \
                     removed: {error}. Remove it before you use git there.",
                    path.display()
                )),
            }
        }
        for (path, before) in self.settings {
            if !is_unchanged(&path, &before) {
                // git replaces the file when a program outside changes a setting, and what has taken
                // its place is not read-only for the agent.
                warnings.push(format!(
                    "{} has changed during the run. If that was not your doing, look at it before \
                     you use git there.",
                    path.display()
                ));
            }
        }
        warnings.extend(self.temporary.remove().err().map(|error| error.to_string()));
        warnings
    }

    /// Makes the places that belong to the run.
    fn make_places(&mut self, paths: &AccessPaths, dir: &RunDir) -> Result<(), AccessError> {
        let value = |path: &Path| Some(path.to_string_lossy().into_owned());
        self.environment.insert(TEMPORARY.to_owned(), value(self.temporary.path()));
        if let Some(mirror) = &paths.mirror {
            let place = self.temporary.mirror(mirror)?;
            self.environment.insert(mirror.variable.clone(), value(&place));
            self.mount_files(mirror, &place)?;
        }
        for variable in &paths.private {
            let place = self.temporary.directory(variable)?;
            self.environment.insert(variable.clone(), value(&place));
        }
        Ok(dir.make_outputs()?)
    }

    /// Allows everything that the access allows.
    fn allow(&mut self, meta: &Meta, dir: &RunDir) -> Result<(), AccessError> {
        let no_paths = AccessPaths::default();
        let paths = meta.access_paths.as_deref().unwrap_or(&no_paths);
        self.writable.add(self.temporary.path())?;
        let names = paths.run_files.iter().map(String::as_str).chain([OUTPUTS]);
        let mut of_run: Vec<PathBuf> = names.map(|name| dir.file(name)).collect();
        for path in of_run.iter().chain(&paths.writable) {
            self.writable.add_if_present(path)?;
        }
        if meta.access == Access::Workspace {
            of_run.retain_mut(|path| fs::canonicalize(&*path).map(|real| *path = real).is_ok());
            let own = fs::canonicalize(dir.path()).ok();
            let records = own.as_deref().and_then(Path::parent).map(|runs| (runs, &*of_run));
            self.add_workspace(&meta.cwd, paths, records)?;
        }
        Ok(())
    }

    /// Makes the directory of the task writable, but not what git would run, and not the records of
    /// runs.
    fn add_workspace(
        &mut self,
        cwd: &Path,
        paths: &AccessPaths,
        records: Option<(&Path, &[PathBuf])>,
    ) -> Result<(), AccessError> {
        let unreadable = |source| AccessError::Directory { path: cwd.to_owned(), source };
        let cwd = fs::canonicalize(cwd).map_err(unreadable)?;
        let settings = paths.kept.iter().filter_map(|path| fs::canonicalize(path).ok());
        let is_near = |settings: &PathBuf| settings.starts_with(&cwd) || cwd.starts_with(settings);
        if let Some(settings) = settings.into_iter().find(is_near) {
            return Err(AccessError::SettingsInside { directory: cwd, settings });
        }
        let repository = Repository::around(&cwd).map_err(AccessError::Repository)?;
        let mut repository = repository.unwrap_or_default();
        // The directory may be another project, with runs of its own.
        let runs_there = model::paths::runs(&cwd);
        let is_own = records.is_some_and(|(runs, _)| runs == runs_there);
        if !is_own && runs_there.is_dir() {
            repository.kept.push(runs_there.clone());
        }
        let roots: Vec<&Path> =
            repository.writable.iter().map(PathBuf::as_path).chain([&*cwd]).collect();
        let problem = match &repository.problem {
            Some(problem) => Some(problem.clone()),
            None => self.keep(&repository.kept, &roots, records).err(),
        };
        let Some(problem) = problem else {
            for root in roots {
                self.writable.add(root)?;
            }
            self.settings = repository.settings();
            self.redirections = repository.redirections;
            return Ok(());
        };
        // Landlock alone: everything but what contains something that must not be changed.
        for path in &repository.data {
            self.writable.add_if_present(path)?;
        }
        if repository.mark.starts_with(&cwd) {
            for entry in fs::read_dir(&cwd).map_err(unreadable)?.flatten() {
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                let has_records = runs_there.starts_with(entry.path()) && runs_there.is_dir();
                if !is_link && !has_records && !repository.mark.starts_with(entry.path()) {
                    self.writable.add_if_present(&entry.path())?;
                }
            }
            self.warnings.push(format!(
                "git's hooks and settings cannot be kept read-only one by one, so all of {} is: git \
                 cannot commit, and files directly in {} can be changed but neither made nor \
                 removed. The reason: {problem}",
                repository.mark.display(),
                cwd.display()
            ));
        } else {
            self.writable.add(&cwd)?;
            if runs_there.is_dir() {
                self.warnings.push(format!(
                    "The agent can change the records of runs in {}, because they cannot be kept \
                     read-only. The reason: {problem}",
                    runs_there.display()
                ));
            }
            if !repository.mark.as_os_str().is_empty() {
                self.warnings.push(format!(
                    "git cannot commit, because its hooks and settings cannot be kept read-only one \
                     by one. The reason: {problem}"
                ));
            }
        }
        Ok(())
    }

    /// Keeps paths read-only inside of what is writable, by mounts. Fails with the reason why that
    /// cannot be had.
    fn keep(
        &mut self,
        kept: &[PathBuf],
        roots: &[&Path],
        records: Option<(&Path, &[PathBuf])>,
    ) -> Result<(), String> {
        let mut read_only = self.read_only.clone();
        let add = |read_only: &mut ReadOnlyPaths, path: &Path| -> Result<bool, ReadOnlyPathError> {
            let root = roots.iter().filter(|root| path.starts_with(root));
            // The outermost: nothing between it and the path can be renamed.
            match root.min_by_key(|root| root.as_os_str().len()) {
                Some(root) => read_only.add(path, root).map(|()| true),
                None => Ok(false),
            }
        };
        for path in kept {
            match add(&mut read_only, path) {
                // A lock of a program that was at work when it was found.
                Err(error) if error.source.kind() == io::ErrorKind::NotFound => {}
                added => drop(added.map_err(|error| error.to_string())?),
            }
        }
        if let Some((runs, of_run)) = records
            && add(&mut read_only, runs).map_err(|error| error.to_string())?
        {
            of_run.iter().for_each(|path| read_only.except(path));
        }
        match &self.no_mounts {
            Some(reason) if !read_only.is_empty() => Err(reason.clone()),
            _ => {
                self.read_only = read_only;
                Ok(())
            }
        }
    }
}

/// Whether a mount point is still the empty file that was made for it, and no link leads there.
fn is_untouched(point: &Path) -> bool {
    fs::canonicalize(point).is_ok_and(|real| real == point)
        && fs::symlink_metadata(point).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Where the entries of a mirror are.
fn mirrored(mirror: &Mirror, place: &Path) -> PathBuf {
    mirror.beneath.as_ref().map_or_else(|| place.to_owned(), |name| place.join(name))
}

/// Whether a file is still as it was. The agent may have put anything in its place, such as a pipe, which must
/// not be opened.
fn is_unchanged(path: &Path, before: &[u8]) -> bool {
    let is_alike = fs::symlink_metadata(path)
        .is_ok_and(|now| now.is_file() && now.len() == before.len() as u64);
    is_alike && fs::read(path).is_ok_and(|now| now == before)
}
