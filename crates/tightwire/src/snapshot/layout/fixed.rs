//! Packets that are nothing but codes, one after the other: a word at a time.

use super::Column;
use super::cells::width;
use crate::stream::WriteError;

/// Reads a packet of nothing but codes, a word at a time; `false` if it is not right.
pub(super) fn read_fixed(
    columns: &[Column],
    bits: usize,
    packet: &[u8],
    cells: &mut [u32],
) -> bool {
    if packet.len() != bits.div_ceil(8) {
        return false;
    }
    let (words, rest) = packet.as_chunks();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let mut words = words.iter().chain(core::iter::once(&last));
    let (mut held, mut count, mut above) = (0u64, 0, false);
    for (cell, column) in cells.iter_mut().zip(columns) {
        let width = width(column.max);
        if count < width {
            let word = words.next().copied().unwrap_or_default();
            held |= u64::from(u32::from_le_bytes(word)) << count;
            count += u32::BITS;
        }
        *cell = (held & ((1 << width) - 1)) as u32;
        above |= *cell > column.max;
        held >>= width;
        count -= width;
    }
    // Set bits behind the last column are no packet.
    !above && held == 0
}

/// The same for writing, of cells that are known to be right.
pub(super) fn write_fixed<'b>(
    columns: &[Column],
    bits: usize,
    cells: &[u32],
    buffer: &'b mut [u8],
) -> Result<&'b [u8], WriteError> {
    let capacity_bits = 8 * buffer.len() as u64;
    let Some((packet, _)) = buffer.split_at_mut_checked(bits.div_ceil(8)) else {
        return Err(WriteError::Full { needed_bits: bits as u64, capacity_bits });
    };
    let (words, rest) = packet.as_chunks_mut();
    let mut words = words.iter_mut();
    let (mut held, mut count) = (0u64, 0);
    for (cell, column) in cells.iter().zip(columns) {
        held |= u64::from(*cell) << count;
        count += width(column.max);
        if count >= u32::BITS {
            if let Some(word) = words.next() {
                *word = (held as u32).to_le_bytes();
            }
            held >>= u32::BITS;
            count -= u32::BITS;
        }
    }
    // What is left may still be a whole word in bytes.
    match words.next() {
        Some(word) => *word = (held as u32).to_le_bytes(),
        None => rest.copy_from_slice(&held.to_le_bytes()[..rest.len()]),
    }
    Ok(packet)
}
