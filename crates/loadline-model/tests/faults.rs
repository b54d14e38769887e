//! Faults are what their sentences say, when they say it.

use loadline_model::emulation::Action;
use loadline_model::fault::{Drives, Faults, Strike};
use loadline_model::sim::Seed;
use loadline_model::units::Time;
use proptest::prelude::*;

const DRIVES: Drives = Drives {
    count: 4,
    redundant: true,
    rebuilds: true,
};

fn seconds(seconds: u64) -> Time {
    Time::from_ns(seconds * 1_000_000_000)
}

fn with(sentences: &[&str]) -> Faults {
    let mut faults = Faults::new(Seed(1), DRIVES);
    for sentence in sentences {
        faults.add(sentence, Time::ZERO).unwrap();
    }
    faults
}

#[test]
fn sentences_are_read_in_all_their_forms() {
    let mut faults = Faults::new(Seed(1), DRIVES);
    let now = seconds(5);
    for (sentence, understood) in [
        ("drive 2 fails at 60s", "drive 2 fails at 60s"),
        ("Drive 2  returns at 1min", "drive 2 returns at 60s"),
        ("drive 3 replaced", "drive 3 is replaced at 5s"),
        ("drive 3 is replaced at 7s", "drive 3 is replaced at 7s"),
        ("latency x10 from 30s to 40s", "latency x10 from 30s to 40s"),
        (
            "latency x1.5 at 30s for 10s",
            "latency x1.5 from 30s to 40s",
        ),
        ("error 0.1% of reads", "error 0.1% of reads from 5s"),
        (
            "error 7% of writes for 2s",
            "error 7% of writes from 5s to 7s",
        ),
        (
            "error 100% of requests to 9s",
            "error 100% of requests from 5s to 9s",
        ),
        ("freeze from 1s for 10s", "freeze from 1s to 11s"),
        ("link lost from 500ms", "link lost from 0.5s"),
        ("clear at 50s", "clear at 50s"),
    ] {
        let said = faults.add(sentence, now).unwrap();
        let expected = understood.replace("0.5s", &Time::from_ns(500_000_000).to_string());
        assert_eq!(said, expected);
    }
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    let mut faults = Faults::new(Seed(1), DRIVES);
    let now = seconds(5);
    for (sentence, part) in [
        ("", "write such as 'drive 2 fails at 60s'"),
        ("latenzy x10", "isn't a fault"),
        ("latency 10", "write x1 to x1000000"),
        ("latency x0.5", "write x1 to x1000000"),
        ("latency xNaN", "write x1 to x1000000"),
        ("error 101% of reads", "write 0% to 100%"),
        ("error 1% of flushes", "write reads, writes or requests"),
        ("drive 4 fails", "drives are 0 to 3"),
        ("drive two fails", "write its number"),
        ("drive 2 explodes", "it fails, returns or is replaced"),
        ("drive 2 fails at 4s", "the emulation is at 5s"),
        ("drive 2 fails for 4s", "'at 60s'"),
        ("freeze from 40s to 30s", "ends before it begins"),
        ("freeze to 4s", "ends before it begins"),
        ("freeze from 1s to 4s", "is over"),
        ("freeze at noon for 1s", "noon"),
        ("freeze slowly", "write 'from 30s to 40s'"),
    ] {
        let message = faults.add(sentence, now).unwrap_err().to_string();
        assert!(message.contains(part), "{sentence}: {message}");
    }
    let mut bare = Faults::new(Seed(1), Drives::default());
    let message = bare.add("drive 0 fails", now).unwrap_err().to_string();
    assert!(message.contains("has no drives"), "{message}");
    let mut striped = Faults::new(
        Seed(1),
        Drives {
            count: 2,
            ..Drives::default()
        },
    );
    assert!(striped.add("drive 0 is replaced", now).is_err());
    assert!(striped.add("drive 0 returns", now).is_ok());
    let mut slow = Faults::new(
        Seed(1),
        Drives {
            rebuilds: false,
            ..DRIVES
        },
    );
    let message = slow.add("drive 0 returns", now).unwrap_err().to_string();
    assert!(message.contains("set pool.rebuild_rate"), "{message}");
}

#[test]
fn drives_are_struck_once_each_in_the_order_of_time() {
    let mut faults = with(&[
        "drive 1 fails at 9s",
        "drive 0 fails at 2s",
        "drive 0 returns at 9s",
    ]);
    assert_eq!(faults.next(), Some(seconds(2)));
    assert_eq!(faults.strikes(seconds(1)), []);
    assert_eq!(faults.strikes(seconds(2)), [Strike::Fails(0)]);
    assert_eq!(
        faults.strikes(seconds(60)),
        [Strike::Fails(1), Strike::Returns(0)]
    );
    assert_eq!(faults.next(), None);
}

#[test]
fn latencies_multiply_while_they_last_and_freezes_follow_each_other() {
    let mut faults = with(&[
        "latency x10 from 2s to 4s",
        "latency x3 from 3s",
        "freeze from 10s to 12s",
        "link lost from 11s for 5s",
        "freeze from 16s to 17s",
        "freeze from 20s",
    ]);
    let factor = |faults: &mut Faults, at| faults.verdict(Action::Read, seconds(at)).factor;
    let factors = [1, 2, 3, 4].map(|at| factor(&mut faults, at).to_string());
    assert_eq!(factors, ["1", "10", "30", "3"]);
    assert_eq!(faults.held(seconds(9)), None);
    assert_eq!(faults.held(seconds(10)), Some(seconds(17)));
    assert_eq!(faults.held(seconds(17)), None);
    assert_eq!(faults.held(seconds(30)), Some(Time::from_ns(u64::MAX)));
    assert_eq!(
        faults.active(seconds(11)),
        [
            "latency x3 from 3s",
            "freeze from 10s to 12s",
            "link lost from 11s to 16s"
        ]
    );
    faults.add("clear", seconds(30)).unwrap();
    assert_eq!(faults.held(seconds(30)), None);
    assert_eq!(faults.active(seconds(30)), [""; 0]);
}

#[test]
fn errors_hit_their_share_of_what_they_mean() {
    let mut faults = with(&["error 25% of writes"]);
    let mut failed = |action| {
        (0..10_000)
            .filter(|_| faults.verdict(action, seconds(1)).fail)
            .count()
    };
    assert_eq!(failed(Action::Read) + failed(Action::Flush), 0);
    // Four standard deviations of a binomial share.
    for action in [Action::Write, Action::Trim, Action::Zero] {
        assert!(failed(action).abs_diff(2500) < 174, "{action:?}");
    }
}

proptest! {
    #[test]
    fn no_sentence_is_more_than_refused(
        words in prop::collection::vec(prop_oneof![
            prop::sample::select(vec!["drive", "2", "fails", "at", "from", "to", "for", "5s", "x2", "latency", "error",
                "1%", "of", "reads", "freeze", "link", "lost", "clear", "99999999999999d", "1ns"]).prop_map(str::to_owned),
            "\\PC{0,9}",
        ], 0..9),
    ) {
        let mut faults = Faults::new(Seed(1), DRIVES);
        let _ = faults.add(&words.join(" "), seconds(1));
        let _ = faults.held(seconds(2));
    }
}
