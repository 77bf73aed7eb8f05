-- Text: whether it is well-formed, and how it is shown.

local text = {}
do
    local byte = string.byte

    -- The character that begins here: how many bytes it has; nothing if it is malformed.
    local function character_length(bytes, at)
        local first = byte(bytes, at)
        if first < 0x80 then
            return 1
        elseif first < 0xc2 or first > 0xf4 then
            return nil
        end
        local length = first < 0xe0 and 2 or first < 0xf0 and 3 or 4
        for place = 1, length - 1 do
            local next_byte = byte(bytes, at + place)
            if not next_byte or next_byte < 0x80 or next_byte > 0xbf then
                return nil
            end
        end
        -- Too many bytes for the number, half of a pair of UTF-16, or beyond the last character.
        local second = byte(bytes, at + 1)
        if first == 0xe0 and second < 0xa0 or first == 0xed and second > 0x9f then
            return nil
        elseif first == 0xf0 and second < 0x90 or first == 0xf4 and second > 0x8f then
            return nil
        end
        return length
    end

    function text.is_utf8(bytes)
        local at = 1
        while at <= #bytes do
            local length = character_length(bytes, at)
            if not length then
                return false
            end
            at = at + length
        end
        return true
    end

    -- A character as UTF-8.
    function text.utf8(number)
        local function part(shift, mark, range)
            return string.char(mark + math.floor(number / 2 ^ shift) % range)
        end
        if number < 0x80 then
            return part(0, 0, 0x80)
        elseif number < 0x800 then
            return part(6, 0xc0, 0x20) .. part(0, 0x80, 0x40)
        elseif number < 0x10000 then
            return part(12, 0xe0, 0x10) .. part(6, 0x80, 0x40) .. part(0, 0x80, 0x40)
        end
        return part(18, 0xf0, 8) .. part(12, 0x80, 0x40) .. part(6, 0x80, 0x40) .. part(0, 0x80, 0x40)
    end

    -- In quotes, with everything escaped that a terminal could obey.
    function text.quoted(bytes)
        local escaped = string.gsub(bytes, '[%c"\\]', function(char)
            if char == '"' or char == "\\" then
                return "\\" .. char
            end
            return string.format("\\x%02x", byte(char))
        end)
        return '"' .. escaped .. '"'
    end

    local MAX_SHOWN = 100

    -- As much as fits into a line: Wireshark would cut off its end, where the bits are said.
    function text.shortened(shown)
        if #shown <= MAX_SHOWN then
            return shown
        end
        local last = MAX_SHOWN
        while byte(shown, last + 1) >= 0x80 and byte(shown, last + 1) < 0xc0 do
            last = last - 1
        end
        return string.sub(shown, 1, last) .. "…"
    end

    function text.hex(bytes)
        return (string.gsub(bytes, ".", function(char) return string.format("%02x", byte(char)) end))
    end
end
