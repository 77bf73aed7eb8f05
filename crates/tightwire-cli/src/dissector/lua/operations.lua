-- The operations: each reads its bits and returns a value, which is
--   text     a function that says how it is shown; nothing for what has no value. Most packets are
--            read without being looked at, and digits take longer than bits.
--   typed    what Wireshark's field gets, for its filters
--   operand  what conditions see of it
--   first, length   the bytes that are the value itself
--   parts    the components of a vector

local operations = {}
do
    local function number_text(number)
        return type(number) == "table" and wide.text(number) or string.format("%.0f", number)
    end
    operations.number_text = number_text

    -- An integer as Wireshark's field of this type takes it.
    local function typed(number, field_type)
        if field_type == "uint64" then
            return UInt64.new(wide.halves(wide.of(number)))
        elseif field_type == "int64" then
            return Int64.new(wide.halves(wide.of(number)))
        elseif field_type == "string" then
            return number_text(number)
        end
        if type(number) == "table" then
            return wide.nearest(number, 53)
        end
        return number
    end

    local function integer(number, shape, signed)
        return {
            text = function() return number_text(number) end,
            typed = typed(number, shape.type),
            operand = { kind = "number", type = signed and "signed" or "unsigned", value = number },
        }
    end

    local function float(number)
        local operand = { kind = "number", type = "float", value = number }
        local function shown() return floats.text(number) end
        return { text = shown, typed = number, operand = operand }
    end

    local function vector(parts)
        local function shown()
            local texts = {}
            for place, part in ipairs(parts) do
                texts[place] = floats.text(part)
            end
            return text.shortened("[" .. table.concat(texts, ", ") .. "]")
        end
        return { text = shown, parts = parts, operand = { kind = "vector", parts = parts } }
    end

    local function text_value(bytes)
        local function shown() return text.shortened(text.quoted(bytes)) end
        local operand = { kind = "length", value = #bytes, of = "text", bytes = bytes }
        return { text = shown, typed = bytes, operand = operand }
    end

    local function bytes_value(reader, bytes)
        return {
            text = function() return text.shortened(text.hex(bytes)) end,
            operand = { kind = "length", value = #bytes, of = "bytes", bytes = bytes },
            first = reader.position / 8 - #bytes,
            length = #bytes,
        }
    end

    function operations.bits(reader, shape)
        return integer(reader:bits(shape.width), shape)
    end

    function operations.bool(reader)
        local value = reader:bits(1) == 1
        local function shown() return tostring(value) end
        return { text = shown, typed = value, operand = { kind = "bool", value = value } }
    end

    -- An integer in whole bytes is the number itself, in two's complement.
    local function plain(reader, shape, start)
        local number = shape.min
        if shape.plain > 0 then
            number = reader:wide_bits(shape.plain)
            if wide.compare(wide.of(shape.min), wide.zero()) < 0 then
                number = wide.sign_extended(number, shape.plain)
            end
        end
        local value = wide.of(number)
        local below = wide.compare(value, wide.of(shape.min)) < 0
        if below or wide.compare(value, wide.of(shape.max)) > 0 then
            reader:refuse("out_of_range", start)
        end
        return number
    end

    function operations.int(reader, shape)
        local start = reader.position
        local number
        if not reader.packs then
            number = plain(reader, shape, start)
        elseif shape.wide then
            local offset = reader:wide_bits(shape.width)
            if wide.compare(offset, wide.of(shape.span)) > 0 then
                reader:refuse("out_of_range", start)
            end
            number = wide.add(wide.of(shape.min), offset)
        else
            number = shape.min + reader:offset(shape.width, shape.span)
        end
        return integer(number, shape, shape.signed)
    end

    function operations.fixed(reader, shape)
        local value = operations.int(reader, shape)
        local raw = value.operand.value
        function value.text()
            local real = wide.nearest(wide.of(raw), 53) / 2 ^ shape.fraction_bits
            return number_text(raw) .. " = " .. floats.double_text(real)
        end
        return value
    end

    function operations.varint(reader, shape)
        local start = reader.position
        local number
        if not reader.packs then
            number = reader:wide_bits(shape.bits)
            if shape.signed then
                number = wide.sign_extended(number, shape.bits)
            end
            return integer(number, shape, shape.signed)
        end
        local code, ended = wide.zero(), false
        for shift = 0, shape.bits - 1, 7 do
            local group = reader:bits(8)
            wide.add_group(code, group % 128, shift)
            if group < 128 then
                if group == 0 and shift > 0 then
                    reader:refuse("overlong", start)
                end
                ended = true
                break
            end
        end
        if not ended or wide.compare(code, wide.power(shape.bits)) >= 0 then
            reader:refuse("out_of_range", start)
        end
        number = code
        if shape.signed then
            -- 0, -1, 1, -2, 2 …
            number = wide.half(code)
            if wide.bit(code, 0) == 1 then
                number = wide.add(number, wide.of(1))
                number.negative = true
            end
        end
        return integer(number, shape, shape.signed)
    end

    function operations.float(reader)
        return float(floats.from_bits(reader:bits(32)))
    end

    function operations.double(reader)
        local number = floats.double_from_bits(wide.halves(reader:wide_bits(64)))
        local operand = { kind = "number", type = "double", value = number }
        local function shown() return floats.double_text(number) end
        return { text = shown, typed = number, operand = operand }
    end

    function operations.compressed_float(reader, shape)
        return float(floats.dequantized(reader:offset(shape.width, shape.max_code), shape))
    end

    function operations.enumerate(reader, shape)
        return integer(reader:offset(shape.width, shape.count - 1), shape)
    end

    local function require_bits(reader, bits)
        if reader:remaining() < bits then
            reader:refuse("unexpected_end", reader.position)
        end
    end

    -- Two floats stand or fall together, as the library reads them.
    function operations.vector(reader, shape)
        local parts = {}
        for place = 1, shape.dimensions do
            if place % 2 == 1 then
                require_bits(reader, 32 * math.min(2, shape.dimensions - place + 1))
            end
            parts[place] = floats.from_bits(reader:bits(32))
        end
        return vector(parts)
    end
    operations.quaternion = operations.vector

    -- Codes of one width, as many at once as 64 bits hold.
    local function codes(reader, count, width, max_code)
        local most = reader.packs and math.floor(64 / width) or 1
        local result = {}
        while #result < count do
            local word = math.min(most, count - #result)
            local start, refused = reader.position, nil
            if reader.packs then
                require_bits(reader, width * word)
            end
            for place = 0, word - 1 do
                local code = reader:bits(width)
                if code > max_code then
                    refused = refused or start + width * place
                end
                table.insert(result, code)
            end
            if refused then
                reader:refuse("out_of_range", refused)
            end
        end
        return result
    end

    function operations.compressed_vector(reader, shape)
        local parts = codes(reader, shape.dimensions, shape.width, shape.max_code)
        for place, code in ipairs(parts) do
            parts[place] = floats.dequantized(code, shape)
        end
        return vector(parts)
    end

    function operations.smallest_three(reader, shape)
        local start = reader.position
        if reader.packs then
            require_bits(reader, 2 + 3 * shape.bits)
        end
        local largest = reader:bits(2)
        local three = {}
        for place = 1, 3 do
            three[place] = reader:bits(shape.bits)
        end
        local parts = floats.rotation(largest, three, shape.bits)
        if not parts then
            reader:refuse("not_unit", start)
        end
        return vector(parts)
    end

    function operations.unit_vector(reader, shape)
        local sides = codes(reader, 2, shape.bits, 2 ^ shape.bits - 2)
        return vector(floats.direction(sides, shape.bits))
    end

    function operations.align(reader)
        reader:align()
        return {}
    end

    function operations.bytes(reader, shape)
        return bytes_value(reader, reader:whole(shape.length))
    end

    function operations.blob(reader, shape)
        return bytes_value(reader, reader:whole(reader:offset(shape.width, shape.max_len)))
    end

    function operations.string(reader, shape)
        local start = reader.position
        local bytes = reader:whole(reader:offset(shape.width, shape.max_len))
        if not text.is_utf8(bytes) then
            reader:refuse("malformed_text", start)
        elseif string.find(bytes, "\0", 1, true) then
            reader:refuse("interior_nul", start)
        end
        return text_value(bytes)
    end

    function operations.wide_string(reader, shape)
        local start = reader.position
        local characters, high = {}, nil
        for _ = 1, reader:offset(shape.width, shape.max_len) do
            local unit = reader:bits(32)
            local is_low = unit >= 0xdc00 and unit < 0xe000
            if unit > 0xffff or is_low ~= (high ~= nil) then
                reader:refuse("malformed_text", start)
            elseif unit == 0 then
                reader:refuse("interior_nul", start)
            elseif high then
                local number = 0x10000 + (high - 0xd800) * 1024 + unit - 0xdc00
                table.insert(characters, text.utf8(number))
                high = nil
            elseif unit >= 0xd800 and unit < 0xdc00 then
                high = unit
            else
                table.insert(characters, text.utf8(unit))
            end
        end
        if high then
            reader:refuse("malformed_text", start)
        end
        return text_value(table.concat(characters))
    end

    -- Both sides can agree to leave out every check.
    function operations.check(reader, shape)
        if reader.checks then
            local start = reader.position
            if reader:bits(32) ~= shape.value then
                reader:refuse("check_failed", start)
            end
        end
        return {}
    end

    local I128_MAX = wide.add(wide.power(127), wide.of(-1))
    local U128_MAX = wide.add(wide.power(128), wide.of(-1))

    -- What was read and is not in its range, as far as it is a number.
    function operations.refused_text(reader, shape)
        local taken = wide.of(reader.last)
        if shape.kind == "int" then
            local number = taken
            if reader.packs then
                number = wide.add(wide.of(shape.min), taken)
            elseif wide.compare(wide.of(shape.min), wide.zero()) < 0 then
                number = wide.sign_extended(taken, shape.plain)
            end
            local most = shape.signed and I128_MAX or U128_MAX
            return wide.text(wide.compare(number, most) > 0 and most or number)
        end
        local kinds = { string = true, wide_string = true, blob = true, enumerate = true, enum = true }
        if kinds[shape.kind] or shape.kind == "compressed_float" then
            return wide.text(taken)
        end
    end
end
