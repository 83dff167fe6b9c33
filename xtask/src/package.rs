//! `cargo xtask package`: the files of a release for this platform. An archive with the program, its manual
//! pages and completions; and two npm packages, one with the program, and one with the extension for pi and a
//! command that finds the program.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use xtask::{Invocation, repository_root, target_directory};

/// The platforms of a release: the system and the processor as Node names them, and the target of Rust.
const PLATFORMS: [(&str, &str, &str); 4] = [
    ("linux", "x64", "x86_64-unknown-linux-gnu"),
    ("linux", "arm64", "aarch64-unknown-linux-gnu"),
    ("darwin", "x64", "x86_64-apple-darwin"),
    ("darwin", "arm64", "aarch64-apple-darwin"),
];

/// The program, and the scope of its npm packages. The plain name belongs to another project there.
const NAME: &str = "pi-subagents";

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::refuse_arguments("package", arguments)?;
    let build = Invocation::new("cargo build --release --locked --package pi-subagents");
    println!("$ {build}");
    build.run().map_err(|what| format!("`{build}` {what}"))?;
    let target = target_directory();
    for file in make(&target.join("release").join(NAME), &target.join("package"))? {
        println!("{}", file.display());
    }
    Ok(())
}

/// Makes everything in a directory, which is emptied first. Returns the files to publish.
pub(crate) fn make(program: &Path, directory: &Path) -> Result<Vec<PathBuf>, String> {
    let (os, cpu, target) = this_platform()?;
    let root = repository_root();
    let manifest = read_json(&root.join("extension/package.json"))?;
    let version = manifest["version"].as_str().ok_or("extension/package.json has no version")?;
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(failed("removed", directory))?;
    }
    let archive = make_archive(program, directory, &format!("{NAME}-{version}-{target}"))?;

    let of_platform = directory.join("npm").join(format!("{os}-{cpu}"));
    copy(program, &of_platform.join(NAME))?;
    copy(&root.join("LICENSE"), &of_platform.join("LICENSE"))?;
    let about = platform_manifest(&manifest, version, os, cpu);
    write(&of_platform.join("package.json"), &about)?;

    let main = directory.join("npm/cli");
    for name in
        ["index.ts", "session.ts", "bridge.ts", "render.ts", "window.ts", "agents.ts", "dialogs.ts"]
    {
        copy(&root.join("extension").join(name), &main.join(name))?;
    }
    let prompts = root.join("extension/prompts");
    for entry in fs::read_dir(&prompts).map_err(failed("read", &prompts))? {
        let path = entry.map_err(failed("read", &prompts))?.path();
        copy(&path, &main.join("prompts").join(path.file_name().unwrap_or_default()))?;
    }
    copy(&root.join("npm/pi-subagents.mjs"), &main.join("pi-subagents.mjs"))?;
    for name in ["README.md", "LICENSE"] {
        copy(&root.join(name), &main.join(name))?;
    }
    write(&main.join("package.json"), &main_manifest(manifest.clone(), version))?;

    let mut files = vec![archive];
    for package in [of_platform, main] {
        files.push(pack(&package, directory)?);
    }
    Ok(files)
}

/// The package with the extension and a command, which depends on the programs for all platforms.
fn main_manifest(mut manifest: Value, version: &str) -> Value {
    let programs = PLATFORMS.iter().map(|(os, cpu, _)| (package_name(os, cpu), json!(version)));
    manifest["optionalDependencies"] = Value::Object(programs.collect());
    manifest["bin"] = json!({NAME: "pi-subagents.mjs"});
    manifest["files"] = json!(["*.ts", "*.mjs", "prompts"]);
    manifest
}

/// The package with the program of one platform.
fn platform_manifest(manifest: &Value, version: &str, os: &str, cpu: &str) -> Value {
    json!({
        "name": package_name(os, cpu),
        "version": version,
        "description": format!("The program {NAME} for {os} on {cpu}"),
        "license": manifest["license"],
        "repository": manifest["repository"],
        "os": [os],
        "cpu": [cpu],
        "files": [NAME],
    })
}

fn package_name(os: &str, cpu: &str) -> String {
    format!("@{NAME}/{os}-{cpu}")
}

fn this_platform() -> Result<(&'static str, &'static str, &'static str), String> {
    let target = |(_, _, target): &&(&str, &str, &str)| {
        let os = if OS == "macos" { "apple-darwin" } else { "unknown-linux-gnu" };
        **target == format!("{ARCH}-{os}")
    };
    PLATFORMS
        .iter()
        .find(target)
        .copied()
        .ok_or_else(|| format!("there are no packages for {OS} on {ARCH}"))
}

/// An archive of one directory with everything that belongs to the program.
fn make_archive(program: &Path, directory: &Path, name: &str) -> Result<PathBuf, String> {
    let top = directory.join(name);
    copy(program, &top.join(NAME))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE"] {
        copy(&repository_root().join(file), &top.join(file))?;
    }
    let manual =
        Invocation::new("").word(shown(program)).words("man --dir").word(shown(&top.join("man")));
    manual.read().map_err(|what| format!("`{manual}` {what}"))?;
    for shell in ["bash", "zsh", "fish"] {
        let print = Invocation::new("").word(shown(program)).words("completions").word(shell);
        let script = print.read().map_err(|what| format!("`{print}` {what}"))?;
        write_bytes(&top.join("completions").join(format!("{NAME}.{shell}")), &script)?;
    }
    let archive = directory.join(format!("{name}.tar.gz"));
    let pack = Invocation::new("tar --create --gzip --file")
        .word(shown(&archive))
        .word("--directory")
        .word(shown(directory))
        .word(name);
    pack.run().map_err(|what| format!("`{pack}` {what}"))?;
    Ok(archive)
}

/// Packs an npm package, and returns the file.
fn pack(package: &Path, into: &Path) -> Result<PathBuf, String> {
    let pack = Invocation::new("npm pack --silent --pack-destination")
        .word(shown(into))
        .word(shown(package));
    let name = pack.read().map_err(|what| format!("`{pack}` {what}"))?;
    Ok(into.join(String::from_utf8_lossy(&name).trim()))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn read_json(path: &Path) -> Result<Value, String> {
    let text = fs::read(path).map_err(failed("read", path))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    make_parent(to)?;
    fs::copy(from, to).map(|_| ()).map_err(failed("copied", from))
}

fn write(path: &Path, document: &Value) -> Result<(), String> {
    write_bytes(path, format!("{document:#}\n").as_bytes())
}

fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), String> {
    make_parent(path)?;
    fs::write(path, bytes).map_err(failed("written", path))
}

fn make_parent(path: &Path) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(failed("created", parent))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> String {
    let path = path.to_owned();
    move |error| format!("{} cannot be {action}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_depends_on_a_program_of_its_own_version_for_every_platform() {
        let manifest = main_manifest(json!({"version": "1.2.3"}), "1.2.3");
        let programs = manifest["optionalDependencies"].as_object().unwrap();
        assert_eq!(programs.len(), PLATFORMS.len());
        for (os, cpu, _) in PLATFORMS {
            let package = platform_manifest(&manifest, "1.2.3", os, cpu);
            assert_eq!(programs[package["name"].as_str().unwrap()], package["version"]);
            assert_eq!((&package["os"][0], &package["cpu"][0]), (&json!(os), &json!(cpu)));
        }
    }

    #[test]
    fn every_package_has_our_scope() {
        let manifest = read_json(&repository_root().join("extension/package.json")).unwrap();
        assert_eq!(manifest["name"], "@pi-subagents/cli");
        for (os, cpu, _) in PLATFORMS {
            assert_eq!(package_name(os, cpu), format!("@pi-subagents/{os}-{cpu}"));
        }
    }
}
