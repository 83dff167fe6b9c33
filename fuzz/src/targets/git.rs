//! What git lists, from repositories that agents and other machines have changed.

use std::collections::BTreeSet;

use workspace::{listed_changes, listed_merge, listed_status};

/// The bytes are a listing, and also names that git lists.
pub(super) fn check(data: &[u8]) {
    check_listing(data);
    let names: Vec<&[u8]> = data.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
    let list = |before: &[u8]| -> Vec<u8> {
        names.iter().flat_map(|name| [before, name, b"\0"].concat()).collect()
    };
    let texts = || names.iter().map(|name| String::from_utf8_lossy(name).into_owned());
    for (counts, expected) in [("1\t20\t", Some((1, 20))), ("-\t-\t", None)] {
        let found = listed_changes(&list(counts.as_bytes()));
        assert!(found.iter().map(|file| file.path.clone()).eq(texts()), "{found:?}");
        let is_expected = |file: &workspace::ChangedFile| {
            file.insertions.zip(file.deletions) == expected
                && file.insertions.is_none() == expected.is_none()
        };
        assert!(found.iter().all(is_expected), "{found:?}");
    }
    assert!(listed_status(&list(b"?? ")).eq(names.iter().copied()));
    let (tree, files) = listed_merge(&[b"tree\0", &list(b"")[..]].concat());
    assert_eq!((tree.as_str(), BTreeSet::from_iter(files)), ("tree", texts().collect()));
}

/// Whatever is listed, a name is a part of it, stands alone, and is not empty where it is a path.
fn check_listing(listing: &[u8]) {
    let entries = listing.split(|byte| *byte == 0).count();
    let changes = listed_changes(listing);
    assert!(changes.len() <= entries, "{changes:?}");
    assert!(changes.iter().all(|file| !file.path.contains('\0')), "{changes:?}");
    let (tree, files) = listed_merge(listing);
    assert!(!tree.contains('\0') && files.len() < entries, "{files:?}");
    assert!(files.windows(2).all(|pair| pair[0] < pair[1]), "{files:?} has a file twice");
    assert!(listed_status(listing).all(|name| !name.is_empty() && !name.contains(&0)));
}
