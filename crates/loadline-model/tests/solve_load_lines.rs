//! Load lines of closed loads are those of the solutions at these loads.

mod solved;

use loadline_model::sim::Arrival;
use loadline_model::solve::{Limit, LoadLine, Loads};
use loadline_model::units::Bytes;
use solved::{solve, stream, system};

/// The load line of random 8 KiB I/Os, or of those in order, on a system of the catalog.
fn load_line(name: &str, random: f64, limit: Limit, loads: Loads) -> LoadLine {
    let system = system(name, &[]);
    let stream = stream(&system, 8192, 0.6, random, Arrival::outstanding(1));
    system.load_line(&[stream], &limit, &loads, true).unwrap()
}

const MEAN: Limit = Limit {
    of: None,
    bound_ns: 30e6,
    strict: false,
};

#[test]
fn a_load_line_is_the_last_number_whose_own_solution_keeps_the_limit() {
    // What is in order without a cache, or mostly, is followed, and its curve known at few loads.
    for (name, random) in [
        ("eva-v2-10k", 1.0),
        ("sas-10k-jbod", 1.0),
        ("hdd-7k2", 0.5),
        ("sas-10k-jbod", 0.5),
        ("md-raid5-8x2tb", 0.0),
    ] {
        let (low, high, step) = (2, 4096, 2);
        let line = load_line(name, random, MEAN, Loads { low, high, step });
        let holds = line.kept.iter().take_while(|&&kept| kept).count() as u32;
        let highest = low + step * (holds - 1);
        let own = |outstanding| solve(&system(name, &[]), 8192, 0.6, random, outstanding);
        let solved = own(highest);
        assert_eq!(line.solution.at, solved.at, "{name}");
        // A chart of the curve that goes as far again shows nothing above it.
        let further = own(2 * (highest + step)).curve;
        let most = further.iter().map(|point| point.throughput_per_s);
        let most = most.fold(0.0, f64::max);
        let saturation_per_s = line.solution.saturation_per_s;
        assert!(saturation_per_s > most * (1.0 - 1e-9), "{name}: {most}");
        assert!(
            line.solution.at.unwrap().response_ns <= MEAN.bound_ns,
            "{name}"
        );
        let next = line.next.unwrap();
        assert!(next.response_ns > MEAN.bound_ns, "{name}");
        let exact = own(highest + step).at.unwrap().response_ns;
        assert!((next.response_ns / exact - 1.0).abs() < 0.01, "{name}");
    }
}

#[test]
fn neighbours_of_thousands_outstanding_differ_by_less_than_walks_do() {
    let per_s = |outstanding| {
        let system = system("md-raid5-8x2tb", &[]);
        let solved = solve(&system, 4096, 0.0, 0.0, outstanding);
        solved.at.unwrap().throughput_per_s
    };
    let more = per_s(1909) / per_s(1908);
    assert!((more - 1.0).abs() < 0.005, "{more}");
}

#[test]
fn the_working_is_there_for_who_asks_for_it() {
    let system = system("eva-v2-10k", &[]);
    let streams = [stream(&system, 8192, 0.6, 1.0, Arrival::outstanding(8))];
    let (low, high, step) = (1, 512, 1);
    let loads = Loads { low, high, step };
    let line = |explain| system.load_line(&streams, &MEAN, &loads, explain).unwrap();
    let alone = |explain| system.solve(&streams, 0, explain).unwrap();
    for solution in [line(false).solution, alone(false)] {
        assert_eq!(solution.working, None);
    }
    for solution in [line(true).solution, alone(true)] {
        assert!(!solution.working.unwrap().lines.is_empty());
    }
}

#[test]
fn a_limit_of_writes_alone_is_looked_for_beyond_the_law_of_little() {
    // Writes that a cache answers keep a limit with more outstanding than the mean of all does.
    let loads = Loads {
        low: 1,
        high: 16_384,
        step: 1,
    };
    let of = Some(loadline_model::sim::Way::Write);
    let line = load_line("eva-v2-10k", 1.0, Limit { of, ..MEAN }, loads);
    let all = load_line("eva-v2-10k", 1.0, MEAN, loads);
    let count = |line: &LoadLine| line.kept.iter().filter(|&&kept| kept).count();
    assert!(count(&line) > count(&all) && line.next.is_some());
}

#[test]
fn a_load_line_obeys_littles_law_where_nothing_but_the_way_to_a_cache_limits() {
    for (name, random, read) in [
        ("eva-v2-10k", 0.0, 1.0),
        ("eva-v2-10k", 0.5, 1.0),
        ("eva-v2-10k", 0.0, 0.0),
        ("perc-h730-1x4tb", 0.0, 1.0),
    ] {
        let system = system(name, &[]);
        let mut cached = stream(&system, 65536, read, random, Arrival::outstanding(1));
        cached.profile.working_set = Bytes(64 << 20);
        let (low, high, step) = (1, 4096, 1);
        let line = system
            .load_line(&[cached], &MEAN, &Loads { low, high, step }, false)
            .unwrap();
        let holds = line.kept.iter().take_while(|&&kept| kept).count();
        let at = line.solution.at.unwrap();
        let inside = at.throughput_per_s * at.response_ns / 1e9;
        assert!(
            (inside / holds as f64 - 1.0).abs() < 1e-6,
            "{name} {read} {random}: {inside} inside of {holds}"
        );
        assert!(
            !line.kept[holds..].contains(&true),
            "{name} {read} {random}: no load beyond keeps the limit"
        );
    }
}
