//! Clients that make mistakes, mean harm or die: the server lives, and serves the others.

mod client;

use client::*;
use loadline_model::units::Time;
use loadline_nbd::{Fixed, Keep};
use proptest::prelude::*;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;

const SIZE: u64 = 1 << 20;

/// Pieces of sessions, some of them right, and what becomes of them when somebody rolls dice.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let option = (
        any::<u32>(),
        0..12u32,
        prop::collection::vec(any::<u8>(), 0..40),
    )
        .prop_map(|(length, number, data)| {
            let mut words = b"IHAVEOPT".to_vec();
            words.extend(number.to_be_bytes());
            let length = if length % 3 == 0 {
                length
            } else {
                data.len() as u32
            };
            words.extend(length.to_be_bytes());
            words.extend(data);
            words
        });
    let go = Just([b"IHAVEOPT", &[0, 0, 0, 7][..], &[0, 0, 0, 6], &[0; 6]].concat());
    let asked = (0..9u16, 0..32u16, any::<u64>(), any::<u32>(), any::<u8>()).prop_map(
        |(command, flags, address, bytes, near)| {
            let (address, bytes) = if near < 200 {
                (address % (SIZE + 4096), bytes % 70_000)
            } else {
                (address, bytes)
            };
            request(command, flags, 1, address, bytes)
        },
    );
    let noise = prop::collection::vec(any::<u8>(), 0..300);
    let piece = prop_oneof![2 => option, 2 => go, 4 => asked, 1 => noise];
    let flags = prop_oneof![8 => Just(3u32), 1 => any::<u32>()];
    (flags, prop::collection::vec(piece, 0..12)).prop_map(|(flags, pieces)| {
        let mut words = flags.to_be_bytes().to_vec();
        words.extend(pieces.concat());
        words
    })
}

#[test]
fn whatever_a_client_says_the_server_lives_and_the_others_are_served() {
    let served = serve(SIZE, |_| {});
    let other = RefCell::new(Client::simple(&served.socket));
    proptest!(ProptestConfig::with_cases(512), |(words in hostile())| {
        let mut stream = UnixStream::connect(&served.socket).unwrap();
        // The server may hang up in the middle.
        let _ = stream.write_all(&words);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
        let mut other = other.borrow_mut();
        prop_assert_eq!(other.read(SIZE - 512, 512).map(|it| it.len()), Ok(512));
        prop_assert_eq!(other.read(SIZE, 512), Err(EINVAL));
    });
    let stats = served.server.stats().unwrap();
    assert!(stats.stored_bytes <= SIZE + 8192, "{}", stats.stored_bytes);
}

#[derive(Debug, Clone)]
enum Op {
    Write(u64, Vec<u8>),
    Zero(u64, u32, bool),
    Trim(u64, u32),
    Read(u64, u32),
    Flush,
}

fn op(size: u64) -> impl Strategy<Value = Op> {
    let place = (0..size, 1..40_000u32)
        .prop_map(move |(address, bytes)| (address, bytes.min((size - address) as u32)));
    let write = (place.clone(), 0..4u8)
        .prop_map(|((address, bytes), value)| Op::Write(address, vec![value; bytes as usize]));
    prop_oneof![
        write,
        (place.clone(), any::<bool>()).prop_map(|((a, b), room)| Op::Zero(a, b, room)),
        place.clone().prop_map(|(a, b)| Op::Trim(a, b)),
        place.prop_map(|(a, b)| Op::Read(a, b)),
        Just(Op::Flush),
    ]
}

fn behaves_like_plain_bytes(ops: &[Op], clients: &mut [Client], size: u64) {
    let mut plain = vec![0; size as usize];
    let span = |address: u64, bytes: u32| address as usize..address as usize + bytes as usize;
    for (turn, op) in ops.iter().enumerate() {
        let client = &mut clients[turn % 2];
        match op {
            Op::Write(address, data) => {
                assert_eq!(client.write(*address, data), Ok(()));
                plain[span(*address, data.len() as u32)].copy_from_slice(data);
            }
            Op::Zero(address, bytes, room) => {
                let flags = if *room { NO_HOLE } else { 0 };
                assert_eq!(
                    client.ask(WRITE_ZEROES, flags, *address, *bytes, &[]),
                    Ok(vec![])
                );
                plain[span(*address, *bytes)].fill(0);
            }
            Op::Trim(address, bytes) => {
                assert_eq!(client.ask(TRIM, 0, *address, *bytes, &[]), Ok(vec![]));
                plain[span(*address, *bytes)].fill(0);
            }
            Op::Read(address, bytes) => {
                let read = client.read(*address, *bytes).unwrap();
                assert!(read == plain[span(*address, *bytes)]);
            }
            Op::Flush => assert_eq!(client.flush(), Ok(())),
        }
    }
    assert!(clients[0].read(0, size as u32).unwrap() == plain);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn memory_and_a_file_behave_like_plain_bytes_over_two_connections(
        ops in prop::collection::vec(op(256 << 10), 1..40)
    ) {
        let size = 256 << 10;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data");
        for kept in [false, true] {
            let served = serve(size, |setup| {
                if kept {
                    setup.keep = Keep::File(file.clone());
                }
            });
            let mut clients = [Client::simple(&served.socket), Client::structured(&served.socket)];
            behaves_like_plain_bytes(&ops, &mut clients, size);
        }
    }
}

#[test]
fn a_thousand_connections_are_served_and_those_that_say_nothing_harm_nobody() {
    // Both ends of each are in this process.
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let served = serve(SIZE, |_| {});
    let silent: Vec<_> = (0..500)
        .map(|_| UnixStream::connect(&served.socket).unwrap())
        .collect();
    let mut clients: Vec<_> = (0..500).map(|_| Client::simple(&served.socket)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let number = number as u16;
        let data = number.to_be_bytes();
        assert_eq!(client.write(u64::from(number) * 2, &data), Ok(()));
    }
    let all = clients[0].read(0, 1000).unwrap();
    let expected: Vec<u8> = (0..500u16).flat_map(u16::to_be_bytes).collect();
    assert_eq!(all, expected);
    assert!(served.server.stats().unwrap().clients >= 1000);
    drop(silent);
}

/// Memory of this process in bytes.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn clients_that_never_read_their_answers_cost_no_memory() {
    let served = serve(1 << 30, |_| {});
    let before = resident_bytes();
    let mut greedy = Vec::new();
    for _ in 0..8 {
        let mut client = Client::simple(&served.socket);
        client.stream.set_nonblocking(true).unwrap();
        // 32 MiB each, 16 TiB in all, were they held in memory.
        for cookie in 0..65_536 {
            let words = request(READ, 0, cookie, 0, 32 << 20);
            if client.stream.write(&words).unwrap_or(0) < words.len() {
                break;
            }
        }
        greedy.push(client);
    }
    let mut other = Client::simple(&served.socket);
    assert_eq!(other.write(0, b"still here"), Ok(()));
    assert_eq!(other.read(0, 10), Ok(b"still here".to_vec()));
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes");
}

#[test]
fn block_status_that_nobody_reads_costs_no_memory() {
    let served = serve(64 << 20, |_| {});
    let mut other = Client::simple(&served.socket);
    for page in (0..1024).step_by(2) {
        assert_eq!(other.write(page * 4096, &[1; 4096]), Ok(()));
    }
    let before = resident_bytes();
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let mut client = Client::structured(&served.socket);
            for _ in 0..1024 {
                client.say(BLOCK_STATUS, 0, 0, 4 << 20);
            }
            client
        })
        .collect();
    assert!(other.read(0, 512).is_ok());
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes of 16 clients");
    drop(clients);
}

#[test]
fn writes_that_announce_much_and_send_little_cost_no_memory() {
    let served = serve(1 << 30, |_| {});
    let before = resident_bytes();
    let mut half_open = Vec::new();
    for _ in 0..200 {
        let mut client = Client::simple(&served.socket);
        client.say(WRITE, 0, 0, 32 << 20);
        client.stream.write_all(&[1; 100]).unwrap();
        half_open.push(client);
    }
    let mut other = Client::simple(&served.socket);
    assert_eq!(other.write(1 << 20, b"still here"), Ok(()));
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 128 << 20, "{grown} bytes");
    drop(half_open);
    // Their places are free again: nothing is under way once they have gone.
    let left = || {
        let stats = served.server.stats().unwrap();
        (stats.clients, stats.in_flight)
    };
    while left() != (1, 0) {}
}

#[test]
fn a_client_that_asks_for_much_at_once_leaves_the_others_their_turn() {
    let (to, asked) = channel();
    let (open, gate) = channel();
    let served = serve(SIZE, |setup| {
        setup.device = Box::new(Listening::gated(to, gate));
    });
    let mut greedy = Client::simple(&served.socket);
    let mut modest = Client::simple(&served.socket);
    let burst: Vec<u8> = (0..1000)
        .flat_map(|it| request(READ, 0, it, 512, 512))
        .collect();
    greedy.say(READ, 0, 512, 512);
    greedy.stream.write_all(&burst).unwrap();
    modest.say(READ, 0, 0, 512);
    open.send(()).unwrap();
    assert!(modest.reply(512).1.is_ok());
    let before = asked.try_iter().position(|it| it.address == 0).unwrap();
    assert!(before <= 2 * 128 + 1, "{before} requests came first");
}

#[test]
fn requests_of_clients_that_have_gone_end_without_them() {
    let served = serve(SIZE, |setup| {
        setup.device = Box::new(Fixed::new(Time::from_ms(20.0)));
    });
    for _ in 0..20 {
        let mut client = Client::simple(&served.socket);
        for at in 0..50 {
            client.say(READ, 0, at * 512, 512);
        }
    }
    let mut other = Client::simple(&served.socket);
    assert_eq!(other.write(0, b"still here"), Ok(()));
    while served.server.stats().unwrap().in_flight > 0 {}
    assert_eq!(served.server.stats().unwrap().clients, 1);
}

#[test]
fn a_client_of_a_device_that_never_answers_is_held_back_and_the_server_can_stop() {
    let mut served = serve(SIZE, |setup| setup.faults = vec!["freeze".to_owned()]);
    let mut client = Client::simple(&served.socket);
    client.stream.set_nonblocking(true).unwrap();
    let mut accepted = 0;
    for cookie in 0..200_000 {
        if client
            .stream
            .write(&request(READ, 0, cookie, 0, 512))
            .is_err()
        {
            break;
        }
        accepted = cookie;
    }
    assert!(accepted < 100_000, "{accepted} requests were taken");
    assert!(served.server.stats().unwrap().in_flight <= 1024);
    served.server.stop();
    assert!(!served.socket.exists());
}
