//! Doubly linked lists over the slots of a slab: `N` of them, each slot in one at most.

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// Heads are the first `N` links, in rings, so that no end is a special case.
#[derive(Debug, Clone)]
pub struct Lists<const N: usize> {
    links: Vec<Link>,
}

impl<const N: usize> Lists<N> {
    pub fn new() -> Self {
        let ring = |head: usize| Link {
            before: head as u32,
            after: head as u32,
        };
        Lists {
            links: (0..N).map(ring).collect(),
        }
    }

    /// Puts a slot that is in no list in front of one.
    pub fn push_front(&mut self, list: usize, slot: u32) {
        let node = slot as usize + N;
        if node >= self.links.len() {
            let alone = Link {
                before: 0,
                after: 0,
            };
            self.links.resize(node + 1, alone);
        }
        let first = self.links[list].after;
        self.links[node] = Link {
            before: list as u32,
            after: first,
        };
        self.links[first as usize].before = node as u32;
        self.links[list].after = node as u32;
    }

    /// Takes a slot out of its list.
    pub fn remove(&mut self, slot: u32) {
        let Link { before, after } = self.links[slot as usize + N];
        self.links[before as usize].after = after;
        self.links[after as usize].before = before;
    }

    pub fn last(&self, list: usize) -> Option<u32> {
        self.links[list].before.checked_sub(N as u32)
    }
}
