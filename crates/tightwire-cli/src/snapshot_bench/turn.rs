//! A scene with another axis pointing up, to measure that compression does not depend on it.

use clap::ValueEnum;

/// Axis that points up after the scene is turned. In a recording it is z.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Up {
    X,
    Y,
}

/// Largest code of a component of a rotation.
const MAX: i32 = 511;

impl Up {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
        }
    }

    /// Turns a vector by a quarter, about the y axis or the x axis.
    pub(super) fn turn(self, vector: &mut [i32; 3]) {
        let [x, y, z] = *vector;
        *vector = match self {
            Self::X => [z, y, -x],
            Self::Y => [x, z, -y],
        };
    }

    /// Turns a rotation, given as the index of its largest component and the codes of the others.
    pub(super) fn turn_rotation(self, words: &mut [i32; 4]) {
        let largest = words[0] as usize;
        let mut four = [0; 4];
        for (place, code) in (0..4).filter(|&place| place != largest).zip(&words[1..]) {
            // Twice the distance from the middle, which is between two codes.
            four[place] = 2 * code - MAX;
        }
        // Any number above all others stands for the largest component.
        four[largest] = 2 * MAX;
        let [x, y, z, w] = four;
        let mut vector = [x, y, z];
        self.turn(&mut vector);
        let mut four = [vector[0], vector[1], vector[2], w];
        let largest = four.iter().position(|part| part.abs() == 2 * MAX).unwrap_or(0);
        if four[largest] < 0 {
            // Both signs are the same rotation, and the largest component is positive.
            four = four.map(|part| -part);
        }
        words[0] = largest as i32;
        for (place, code) in (0..4).filter(|&place| place != largest).zip(&mut words[1..]) {
            *code = (four[place] + MAX) / 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_quarters_are_a_whole_turn() {
        for up in [Up::X, Up::Y] {
            for words in [[0, 511, 3, 200], [1, 256, 255, 0], [2, 1, 2, 3], [3, 100, 400, 511]] {
                let (mut vector, mut turned) = ([7, -8, 9], words);
                for quarter in 1..=4 {
                    up.turn(&mut vector);
                    up.turn_rotation(&mut turned);
                    assert_eq!(turned == words, quarter == 4, "{up:?} {words:?}");
                    assert_eq!(vector == [7, -8, 9], quarter == 4);
                }
            }
        }
    }

    #[test]
    fn the_axis_that_pointed_up_points_along_another() {
        let mut vector = [0, 0, 5];
        Up::Y.turn(&mut vector);
        assert_eq!(vector, [0, 5, 0]);
        let mut vector = [0, 0, 5];
        Up::X.turn(&mut vector);
        assert_eq!(vector, [5, 0, 0]);
        // A turn about z becomes the same turn about y.
        let mut words = [3, 255, 256, 400];
        Up::Y.turn_rotation(&mut words);
        assert_eq!(words, [3, 255, 400, 255]);
    }
}
