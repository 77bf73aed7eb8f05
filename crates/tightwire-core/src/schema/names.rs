//! The characters of names, which are shown to people.
//!
//! The derive refuses what a schema refuses, and depends on no crate of ours: this file is in both crates,
//! and a test of the derive compares the two.

/// Whether the character has power over what stands beside it: over the terminal, over lines, or over
/// the direction in which text is shown.
pub(crate) fn is_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the character leaves no mark: white space, or of those that Unicode says to ignore where
/// they are not known (`Default_Ignorable_Code_Point`, which does not change between its versions).
pub(crate) fn is_invisible(char: char) -> bool {
    char.is_whitespace()
        || matches!(
            char,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}
