//! The pages go through a real `man`.

use std::fs;

use test_support::{Ran, World};

use crate::world;

#[test]
fn man_shows_every_page_without_a_complaint() {
    let world = world();
    let directory = world.path("man1");
    let ran = world.run(&["man", "--dir", directory.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut pages: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        // `World::behind` adds the program under test, which man must not see.
        let man = r#"MANROFFOPT=-ww exec man --warnings -E UTF-8 -l "$0""#;
        let shell = ["sh", "-c", man, page.to_str().unwrap()];
        let ran = Ran::from(World::behind(&shell, &world.command::<&str>([])).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", page.display());
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
            assert!(ran.stdout.contains(heading), "{}: {}", page.display(), ran.stdout);
        }
    }
}
