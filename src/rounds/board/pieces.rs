//! Pieces of text, each compressed once, joined to one gzip member.
//!
//! A family's lines of several clusters stand together in the text, but are made at different times. Each piece is
//! therefore deflated by itself and ends on a byte boundary with the dictionary forgotten (a full flush), so that
//! pieces can be joined in any order; their checksums combine by arithmetic. The result is one ordinary member: every
//! reader of gzip takes it, also those that stop after the first.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// A text, compressed.
#[derive(Debug)]
pub(super) struct Piece {
    deflated: Vec<u8>,
    crc: Crc,
}

/// RFC 1952: magic, deflate, no flags, no time, no hint, unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// A last block without content.
const END: [u8; 2] = [0x03, 0x00];

impl Piece {
    pub(super) fn of(text: &str) -> Self {
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        Self { deflated: deflate(text.as_bytes()), crc }
    }
}

fn deflate(mut rest: &[u8]) -> Vec<u8> {
    let mut compress = Compress::new(Compression::fast(), false);
    let mut deflated = Vec::new();
    if rest.is_empty() {
        return deflated;
    }
    loop {
        deflated.reserve(rest.len() / 4 + 64);
        let before = compress.total_in();
        compress.compress_vec(rest, &mut deflated, FlushCompress::Full).expect("deflating into a buffer cannot fail");
        let taken = usize::try_from(compress.total_in() - before).expect("it took no more than it was given");
        rest = &rest[taken..];
        // A flush is complete once it leaves room: a full buffer may hide more output.
        if rest.is_empty() && deflated.len() < deflated.capacity() {
            deflated.shrink_to_fit();
            return deflated;
        }
    }
}

/// Joins pieces to one gzip member.
pub(super) fn join<'a>(pieces: impl Iterator<Item = &'a Piece> + Clone) -> Vec<u8> {
    let size: usize = pieces.clone().map(|piece| piece.deflated.len()).sum();
    let mut gzip = Vec::with_capacity(size + HEAD.len() + END.len() + 8);
    gzip.extend_from_slice(&HEAD);
    let mut crc = Crc::new();
    for piece in pieces {
        gzip.extend_from_slice(&piece.deflated);
        crc.combine(&piece.crc);
    }
    gzip.extend_from_slice(&END);
    gzip.extend_from_slice(&crc.sum().to_le_bytes());
    gzip.extend_from_slice(&crc.amount().to_le_bytes());
    gzip
}
