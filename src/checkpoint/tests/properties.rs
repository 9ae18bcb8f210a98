//! Whatever the bytes: an answer, never a panic, and no number that the files do not hold.

use proptest::prelude::*;

use super::*;

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("metadata".to_owned()),
        (0u64..6).prop_map(|id| format!("offsets/{id}")),
        (0u64..6).prop_map(|id| format!("commits/{id}")),
        (0u64..3).prop_map(|id| format!("sources/{id}/0")),
        "(offsets|commits)/[-+0-9.a]{1,20}",
    ]
}

fn whole_file() -> impl Strategy<Value = Vec<u8>> {
    let kafka = prop_oneof![
        (any::<i64>(), any::<i32>())
            .prop_map(|(number, partition)| format!(r#"{{"orders":{{"{partition}":{number}}}}}"#)),
        (0i64..100, 0i64..100).prop_map(|(one, two)| format!(r#"{{"orders":{{"0":{one},"1":{two}}}}}"#)),
        Just("-".to_owned()),
        Just("{}".to_owned()),
        Just("7".to_owned()),
    ];
    (0usize..5, prop::collection::vec(kafka, 0..4)).prop_map(|(form, lines)| {
        match form {
            0 => v1(&lines.join("\n")),
            1 => v2(&lines.iter().enumerate().map(|(id, line)| format!("{id}:{line}")).collect::<Vec<_>>().join("\n")),
            2 => initial(lines.first().map_or("", String::as_str)),
            3 => COMMIT.to_owned(),
            _ => METADATA.1.to_owned(),
        }
        .into_bytes()
    })
}

/// Whole files, pieces of them, and noise.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => whole_file(),
        1 => (whole_file(), any::<prop::sample::Index>()).prop_map(|(bytes, cut)| bytes[..cut.index(bytes.len())].to_vec()),
        1 => (whole_file(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

proptest! {
    #[test]
    fn any_checkpoint_gives_an_answer(
        files in prop::collection::btree_map(path(), content(), 0..16),
        vanished in prop::collection::vec(path(), 0..3),
    ) {
        let listing = listing(&files);
        let mut contents = files.clone();
        for path in &vanished {
            contents.remove(path);
        }
        let reading = read(&listing, &contents);
        let again = read(&listing, &contents);
        prop_assert_eq!(&reading, &again);

        prop_assert!(!reading.batch_open || reading.newest_planned.is_some());
        prop_assert!(reading.unread().is_none() || reading.sources.iter().all(|source| source.topics.is_empty()));
        let text: String = contents.values().map(|bytes| String::from_utf8_lossy(bytes)).collect();
        for source in &reading.sources {
            prop_assert!(source.kind == SourceKind::Kafka || source.topics.is_empty());
            for position in source.topics.values().flat_map(BTreeMap::values) {
                for number in [position.committed, position.planned].into_iter().flatten() {
                    prop_assert!(text.contains(&number.to_string()), "{number} stands nowhere");
                }
            }
        }
    }

    #[test]
    fn what_is_not_wanted_does_not_matter(files in prop::collection::btree_map(path(), whole_file(), 0..16)) {
        let reading = read_as_a_reader_does(&files);
        let mut everything = read(&listing(&files), &files);
        // only told where positions depend on it
        everything.started_at = reading.started_at;
        prop_assert_eq!(reading, everything);
    }
}
