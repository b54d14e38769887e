//! The disk as a node of a simulated system, against the same disk driven by hand.

use loadline_model::device::disk::{Disk, DiskNode, Model, Options, Request, Waiting};
use loadline_model::drive::{DriveDescription, Scheduling};
use loadline_model::sim::{
    Engine, Io, Load, Network, Node, NodeId, Progress, Seed, Stop, Totals, Way,
};
use loadline_model::units::Time;
use proptest::prelude::*;
use std::sync::Arc;

const SECTOR_BYTES: u64 = 512;

/// A small disk of two surfaces, whose buffer writes while nothing else is to be done.
fn drive(pipelined: bool) -> Arc<Model> {
    let text = format!(
        "title = 'small'\n[rotation]\nspeed = '10000rpm'\n\
         [seek]\nsingle = '0.5ms'\naverage = '4ms'\nfull = '8ms'\nhead_switch = '0.5ms'\nwrite_settle = '0.4ms'\n\
         [overhead]\ncommand = '0.1ms'\nread_completion = '0.03ms'\n[interface]\nrate = '100MB/s'\n\
         [cache]\nsegments = 8\nsegment = '256KiB'\nread_ahead = 'segment'\n\
         [queue]\ntags = 64\npipelined = {pipelined}\n[geometry]\nsurfaces = 2\n[[geometry.zone]]\n\
         first_cylinder = 0\nlast_cylinder = 4999\nsectors_per_track = 400\ntrack_skew_sectors = 60\ncylinder_skew_sectors = 60\n"
    );
    Arc::new(Model::new(&DriveDescription::from_toml(&text).unwrap()).unwrap())
}

fn engine(disk: Disk, order: Waiting) -> Engine<Network> {
    let node = Node::Disk(Box::new(DiskNode::new(disk, order)));
    let path = vec![(Stop::At(NodeId::new(0)), Load::Access)];
    Engine::new(vec![node], Network::new(vec![path], Seed(1)))
}

const END: Time = Time::from_ns(1 << 60);

fn submit(engine: &mut Engine<Network>, access: (Way, u64, u32), tag: usize, at: Time) {
    let (way, address, bytes) = access;
    let io = Io {
        stream: 0,
        job: 0,
        tag: tag as u32,
        way,
        address,
        bytes,
        since: at,
    };
    engine.submit(io, at);
}

fn next_answer(engine: &mut Engine<Network>) -> (usize, Time) {
    match engine.advance(END, &mut u64::MAX.clone()) {
        Progress::Completed(done) => (done.io.tag as usize, done.completed),
        other => panic!("{other:?} instead of an answer"),
    }
}

/// Keeps `depth` accesses outstanding: which was answered when, and the node's counters then.
fn in_engine(
    disk: Disk,
    order: Waiting,
    accesses: &[(Way, u64, u32)],
    depth: usize,
) -> (Vec<(usize, Time)>, Totals) {
    let mut engine = engine(disk, order);
    for (tag, &access) in accesses.iter().take(depth).enumerate() {
        submit(&mut engine, access, tag, Time::ZERO);
    }
    let mut answers = Vec::new();
    while answers.len() < accesses.len() {
        let answer = next_answer(&mut engine);
        answers.push(answer);
        let tag = answers.len() + depth - 1;
        if let Some(&access) = accesses.get(tag) {
            submit(&mut engine, access, tag, answer.1);
        }
    }
    (answers, engine.nodes()[0])
}

/// The same without an engine.
fn by_hand(mut disk: Disk, accesses: &[(Way, u64, u32)], depth: usize) -> Vec<(usize, Time)> {
    let mut under_way: Vec<(Time, usize)> = Vec::new();
    let mut free_at = Time::ZERO;
    let mut answers = Vec::new();
    let mut given = accesses.iter().enumerate();
    let enqueue = |disk: &mut Disk, now: Time, (tag, access): (usize, &(Way, u64, u32))| {
        let request = Request {
            token: tag as u64,
            way: access.0,
            lbn: access.1 / SECTOR_BYTES,
            sectors: access.2 / SECTOR_BYTES as u32,
        };
        disk.enqueue(now, request).unwrap();
    };
    let mut start = |disk: &mut Disk, now: Time, under_way: &mut Vec<(Time, usize)>| {
        while free_at <= now {
            let Some(started) = disk.start_next(now) else {
                break;
            };
            free_at = started.free_at;
            let done = started.completion;
            under_way.extend(done.map(|done| (done.done_at, done.token as usize)));
        }
        free_at
    };
    let mut free = Time::ZERO;
    for access in given.by_ref().take(depth) {
        enqueue(&mut disk, Time::ZERO, access);
        free = start(&mut disk, Time::ZERO, &mut under_way);
    }
    while answers.len() < accesses.len() {
        let first = under_way.iter().copied().min();
        match first {
            Some((now, tag)) if disk.queued() == 0 || now <= free => {
                under_way.retain(|&done| done != (now, tag));
                answers.push((tag, now));
                free = start(&mut disk, now, &mut under_way);
                if let Some(access) = given.next() {
                    enqueue(&mut disk, now, access);
                    free = start(&mut disk, now, &mut under_way);
                }
            }
            _ => free = start(&mut disk, free, &mut under_way),
        }
    }
    answers
}

/// Half of them near each other.
fn accesses(model: &Model, seed: u64, count: usize, write_fraction: f64) -> Vec<(Way, u64, u32)> {
    let mut rng = Seed(seed).rng(loadline_model::sim::Purpose::Routing, 0);
    (0..count)
        .map(|_| {
            let write = (rng.below(1000) as f64) < 1000.0 * write_fraction;
            let sectors = 1 + rng.below(64);
            let places = if rng.below(2) == 0 {
                3000
            } else {
                model.sectors()
            };
            let lbn = rng.below(places - sectors);
            let way = if write { Way::Write } else { Way::Read };
            (way, lbn * SECTOR_BYTES, (sectors * SECTOR_BYTES) as u32)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_node_answers_as_the_disk_does_by_hand(
        seed in any::<u64>(),
        depth in 1usize..20,
        write_fraction in 0.0..1.0,
        write_back in any::<bool>(),
        pipelined in any::<bool>(),
        scheduling in proptest::sample::select(vec![Scheduling::Fifo, Scheduling::CLook, Scheduling::Sptf]),
    ) {
        let model = drive(pipelined);
        let options = Options {
            scheduling: Some(scheduling),
            write_back: Some(write_back),
            phase: seed as u32,
            ..Options::default()
        };
        let disk = Disk::new(Arc::clone(&model), &options);
        let accesses = accesses(&model, seed, 100, write_fraction);
        let (answers, totals) = in_engine(disk.clone(), Waiting::FirstCome, &accesses, depth);
        prop_assert_eq!(&answers, &by_hand(disk, &accesses, depth));
        // Little's law, exactly: what was present over time is what each was there for.
        let mut begins = vec![Time::ZERO; depth];
        begins.extend(answers.iter().map(|answer| answer.1));
        let responses: u64 = answers.iter().map(|&(tag, at)| (at - begins[tag]).ns()).sum();
        prop_assert_eq!(totals.residence.ns(), responses);
        let end = answers.last().unwrap().1;
        // Something was always there.
        prop_assert_eq!(totals.busy, end);
    }
}

/// 2,000 writes, each `pause_ns` after the answer to the one before: busy time of the disk, and the sum of responses.
fn writes_with_pauses(write_back: bool, pause_ns: u64) -> (u64, u64) {
    let model = drive(true);
    let options = Options {
        write_back: Some(write_back),
        ..Options::default()
    };
    let disk = Disk::new(Arc::clone(&model), &options);
    let mut engine = engine(disk, Waiting::FirstCome);
    let (mut at, mut responses) = (Time::ZERO, 0);
    for access in accesses(&model, 5, 2000, 1.0) {
        at += Time::from_ns(pause_ns);
        while engine.advance(at, &mut u64::MAX.clone()) != Progress::Reached {}
        let busy = engine.nodes()[0].busy;
        assert!(busy <= at, "{busy} of {at}");
        submit(&mut engine, access, 0, at);
        let done = next_answer(&mut engine).1;
        responses += (done - at).ns();
        at = done;
    }
    let later = at + Time::from_ns(1_000_000_000);
    engine.advance(later, &mut u64::MAX.clone());
    (engine.nodes()[0].busy.ns(), responses)
}

#[test]
fn a_disk_is_busy_while_it_holds_a_command_or_writes_from_its_buffer() {
    let (busy, responses) = writes_with_pauses(false, 40_000_000);
    assert_eq!(busy, responses, "the utilisation law");
    // Each write has ended before the next one comes, so the buffer changes when hosts are answered, and hardly the work.
    let (buffered, answers) = writes_with_pauses(true, 40_000_000);
    let off = buffered as f64 / busy as f64 - 1.0;
    assert!(
        answers * 4 < busy && off.abs() < 0.03,
        "{answers} of {busy}, {off}"
    );
    // With less than the time of a write between them, they queue in the buffer.
    let (pressed, answers) = writes_with_pauses(true, 3_000_000);
    assert!(
        answers < pressed && pressed <= busy,
        "{answers} of {pressed}"
    );
}

#[test]
fn what_finds_no_tag_waits_in_the_order_in_which_it_came() {
    let model = drive(false);
    let accesses = accesses(&model, 6, 300, 0.5);
    let disk = |scheduling, tags| {
        let options = Options {
            scheduling: Some(scheduling),
            tags: Some(tags),
            ..Options::default()
        };
        Disk::new(Arc::clone(&model), &options)
    };
    let (one_tag, _) = in_engine(disk(Scheduling::Sptf, 1), Waiting::FirstCome, &accesses, 16);
    let tags: Vec<usize> = one_tag.iter().map(|answer| answer.0).collect();
    assert_eq!(tags, (0..300).collect::<Vec<_>>());
    // With four tags one of the four oldest is served, and nearer ones first is faster.
    let (four, _) = in_engine(disk(Scheduling::Sptf, 4), Waiting::FirstCome, &accesses, 16);
    for (place, answer) in four.iter().enumerate() {
        assert!(answer.0 < place + 4, "{} was {place}th", answer.0);
    }
    assert!(four[299].1 < one_tag[299].1);
}

#[test]
fn reads_pass_writes_that_wait_for_a_tag_if_the_controller_lets_them() {
    let model = drive(false);
    let options = Options {
        tags: Some(1),
        ..Options::default()
    };
    let way = |index: usize| {
        if index % 3 == 0 {
            Way::Read
        } else {
            Way::Write
        }
    };
    let accesses: Vec<_> = (0..12)
        .map(|index| (way(index), index as u64 * 512_000, 512))
        .collect();
    let (answers, _) = in_engine(
        Disk::new(model, &options),
        Waiting::ReadsFirst,
        &accesses,
        12,
    );
    let tags: Vec<usize> = answers.iter().map(|answer| answer.0).collect();
    assert_eq!(tags, [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]);
}

#[test]
fn accesses_are_rounded_outwards_to_sectors() {
    let model = drive(false);
    let answered = |address, bytes| {
        let disk = Disk::new(Arc::clone(&model), &Options::default());
        in_engine(disk, Waiting::FirstCome, &[(Way::Read, address, bytes)], 1).0
    };
    assert_eq!(answered(512_511, 2), answered(512_000, 1024));
    assert_ne!(answered(512_511, 1), answered(512_000, 1024));
    assert_eq!(answered(512_511, 1), answered(512_000, 512));
}

#[test]
#[should_panic(expected = "Beyond")]
fn an_access_beyond_the_drive_is_the_caller_s_fault() {
    let model = drive(false);
    let beyond = model.sectors() * SECTOR_BYTES;
    let disk = Disk::new(model, &Options::default());
    in_engine(disk, Waiting::FirstCome, &[(Way::Read, beyond, 512)], 1);
}
