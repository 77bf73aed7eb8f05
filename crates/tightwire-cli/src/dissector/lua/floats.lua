-- Floats of 32 bits: the format computes with these, and Lua only has doubles. One operation on two
-- such floats, rounded to 53 bits and then to 24, is what it is when it is rounded to 24 at once.

local floats = {}
do
    local function single(number)
        return (Struct.unpack("<f", Struct.pack("<f", number)))
    end
    floats.single = single

    local function bytes_of(word)
        local bytes = {}
        for place = 1, 4 do
            bytes[place] = string.char(math.floor(word % 256))
            word = math.floor(word / 256)
        end
        return table.concat(bytes)
    end

    function floats.from_bits(word)
        return (Struct.unpack("<f", bytes_of(word)))
    end

    function floats.double_from_bits(low, high)
        return (Struct.unpack("<d", bytes_of(low) .. bytes_of(high)))
    end

    -- The fewest digits that are read back as the same number.
    local function shortest(number, fewest, most, round)
        if number ~= number then
            return "NaN"
        elseif number == 1 / 0 or number == -1 / 0 then
            return number > 0 and "inf" or "-inf"
        end
        for digits = fewest, most - 1 do
            local text = string.format("%." .. digits .. "g", number)
            if round(tonumber(text)) == number then
                return text
            end
        end
        return string.format("%." .. most .. "g", number)
    end

    function floats.text(number)
        return shortest(number, 6, 9, single)
    end

    function floats.double_text(number)
        return shortest(number, 15, 17, function(read) return read end)
    end

    -- What a code of a quantised float stands for.
    function floats.dequantized(code, range)
        local position = single(single(code) / single(range.max_code))
        local delta = single(range.max - range.min)
        return single(single(position * delta) + range.min)
    end

    local ROOT = single(math.sqrt(2))

    -- The four components of a rotation, or nothing if there is none with these codes.
    function floats.rotation(largest, codes, bits)
        local centre = 2 ^ (bits - 1) - 1
        local step = single(1 / single(centre * ROOT))
        local three, squares = {}, {}
        for place, code in ipairs(codes) do
            if code > 2 * centre then
                return nil
            end
            three[place] = single((code - centre) * step)
            squares[place] = single(three[place] * three[place])
        end
        local sum = single(single(squares[1] + squares[2]) + squares[3])
        if sum > 1 then
            return nil
        end
        table.insert(three, largest + 1, single(math.sqrt(single(1 - sum))))
        return three
    end

    -- A point on the lower half of the octahedron, which is folded outwards over the upper.
    local function folded(u, v)
        local x, y = math.abs(single(1 - math.abs(v))), math.abs(single(1 - math.abs(u)))
        return u < 0 and -x or x, v < 0 and -y or y
    end

    function floats.direction(codes, bits)
        local centre = 2 ^ (bits - 1) - 1
        local x, y = single((codes[1] - centre) / centre), single((codes[2] - centre) / centre)
        local z = single(single(1 - math.abs(x)) - math.abs(y))
        if z < 0 then
            x, y = folded(x, y)
        end
        local squares = single(single(single(x * x) + single(y * y)) + single(z * z))
        local length = single(math.sqrt(squares))
        return { single(x / length), single(y / length), single(z / length) }
    end
end
