use proptest::prelude::*;

use super::*;

fn of(ordinal: u32, count: u32) -> Shard {
    Shard::new(ordinal, count).unwrap()
}

/// Worked out with another program: `printf '0/orders' | sha256sum` and so on. A line that changes moves a query of
/// somebody's fleet at an upgrade.
#[test]
fn names_stay_where_they_are() {
    let table: [(&str, [u32; 5]); 10] = [
        ("orders", [1, 1, 1, 16, 16]),
        ("payments", [0, 0, 0, 16, 92]),
        ("clicks", [1, 1, 1, 14, 14]),
        ("stock", [1, 2, 2, 13, 63]),
        ("returns", [1, 1, 1, 18, 37]),
        ("a", [0, 0, 0, 9, 91]),
        ("etl/daily", [1, 2, 2, 9, 9]),
        ("überweisung", [1, 1, 3, 7, 7]),
        ("orders_v2", [1, 1, 3, 3, 46]),
        ("team-b/orders", [0, 0, 0, 14, 78]),
    ];
    for (name, expected) in table {
        assert_eq!([2, 3, 5, 20, 100].map(|count| of(0, count).holder(name)), expected, "{name}");
    }
}

#[test]
fn of_ten_thousand_queries_no_shard_of_up_to_twenty_has_a_sixth_more_or_less_than_its_share() {
    for count in [2_u32, 3, 5, 20] {
        let mut held = vec![0_u32; usize::try_from(count).unwrap()];
        for number in 0..10_000 {
            held[usize::try_from(of(0, count).holder(&format!("query-{number:05}"))).unwrap()] += 1;
        }
        let share = 10_000 / count;
        assert!(held.iter().all(|held| held.abs_diff(share) <= share / 6), "{count} shards: {held:?}");
    }
}

#[test]
fn with_one_shard_more_its_share_moves_there_and_nothing_else_moves() {
    for count in 1..=12 {
        let (before, after) = (of(0, count), of(0, count + 1));
        let names = (0..3_000).map(|number| format!("team-{}/query-{number}", number % 7));
        let moved: Vec<u32> =
            names.filter(|name| before.holder(name) != after.holder(name)).map(|name| after.holder(&name)).collect();
        assert!(moved.iter().all(|holder| *holder == count), "only to the new one");
        let share = 3_000 / (count + 1);
        let moved = u32::try_from(moved.len()).unwrap();
        assert!(moved.abs_diff(share) <= share / 4, "{count}: {moved} moved, and {share} should");
    }
}

#[test]
fn a_shard_is_written_as_its_ordinal_and_their_number() {
    fn check(text: &str, expected: Result<(u32, u32), &str>) {
        let read = text.parse::<Shard>().map(|shard| (shard.ordinal(), shard.count()));
        assert_eq!(read.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{text}");
    }
    const FORM: &str = "write ORDINAL/SHARDS, such as 0/3 for the first of three";
    check("2/5", Ok((2, 5)));
    check("0/1", Ok((0, 1)));
    check("brinkwatch-4/5", Ok((4, 5)));
    check("team-7-brinkwatch-0/2", Ok((0, 2)));
    for (pod, ordinal) in [(3, 0), (4, 1), (5, 2), (6, 0)] {
        check(&format!("brinkwatch-{pod}/3"), Ok((ordinal, 3)));
    }
    check("brinkwatch-7/1", Ok((0, 1)));
    check("007/8", Ok((7, 8)));
    check("", Err(FORM));
    check("2", Err(FORM));
    check("2/5/7", Err(FORM));
    check("5/5", Err("ordinals count from 0: there is no shard 5 of 5, and the last one is 4/5"));
    check("1/0", Err("the number of shards \"0\" is no number from 1 to 1000"));
    check("1/1001", Err("the number of shards \"1001\" is no number from 1 to 1000"));
    check("1/", Err("the number of shards \"\" is no number from 1 to 1000"));
    check("1/ 5", Err("the number of shards \" 5\" is no number from 1 to 1000"));
    check("0/+5", Err("the number of shards \"+5\" is no number from 1 to 1000"));
    check("0/99999999999", Err("the number of shards \"99999999999\" is no number from 1 to 1000"));
    for ordinal in ["", "-1", "+1", " 1", "a", "brinkwatch", "brinkwatch-", "brinkwatch-x", "$(POD_NAME)", "1.5"] {
        let words =
            format!("the ordinal {ordinal:?} is no number, and no name that ends with one, such as brinkwatch-2");
        check(&format!("{ordinal}/3"), Err(&words));
    }
}

proptest! {
    #[test]
    fn every_query_belongs_to_exactly_one_shard(name in ".{0,40}", count in 1_u32..40) {
        let holders: Vec<u32> = (0..count).filter(|ordinal| of(*ordinal, count).holds(&name)).collect();
        prop_assert_eq!(holders, vec![of(0, count).holder(&name)]);
    }

    #[test]
    fn what_is_printed_is_read_back(count in 1_u32..=Shard::MOST, ordinal in 0_u32..Shard::MOST) {
        let shard = of(ordinal % count, count);
        prop_assert_eq!(shard.to_string().parse(), Ok(shard));
    }
}
