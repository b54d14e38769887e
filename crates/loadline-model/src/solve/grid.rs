//! Grids of numbers at which smooth curves are known, and what was found there.

use std::cell::RefCell;

/// Numbers from 1 to `most` at which a smooth curve is known: each at first, then in steps of a twelfth.
pub(super) fn grid(most: f64) -> impl Iterator<Item = f64> {
    let next =
        move |&last: &f64| (last < most).then(|| (last + (last / 12.0).ceil().max(1.0)).min(most));
    std::iter::successors(Some(1.0), next)
}

/// What was found at the numbers of grids, of which each longer one has those of a shorter one, but for its last.
#[derive(Debug, Clone, Default)]
pub(super) struct Grid(RefCell<Vec<(f64, [f64; 2])>>);

impl Grid {
    /// What was found at a grid's number, which has this place in it, or is found now.
    pub(super) fn at(
        &self,
        place: usize,
        number: f64,
        find: impl FnOnce() -> [f64; 2],
    ) -> [f64; 2] {
        let known = self.0.borrow().get(place).copied();
        if let Some((_, found)) = known.filter(|(at, _)| at.to_bits() == number.to_bits()) {
            return found;
        }
        let found = find();
        let mut points = self.0.borrow_mut();
        // A grid's last number may be none of longer ones.
        if place + 1 >= points.len() {
            points.truncate(place);
            points.push((number, found));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grids_have_in_common_is_found_once() {
        let known = Grid::default();
        let found_anew = |most: f64| {
            let mut count = 0;
            for (place, number) in grid(most).enumerate() {
                let found = known.at(place, number, || {
                    count += 1;
                    [number, -number]
                });
                assert_eq!(found.map(f64::to_bits), [number, -number].map(f64::to_bits));
            }
            count
        };
        // 13, 15, 17 ... 28 are of all grids that go so far, and 14 of none but its own.
        assert_eq!([12.0, 12.0, 14.0, 30.0].map(found_anew), [12, 0, 2, 8]);
        assert_eq!([14.0, 14.0, 30.0].map(found_anew), [1, 1, 0]);
    }
}
