-- Integers of up to 128 bits. Lua's numbers are doubles, exact up to 2^53; what may be larger is a
-- list of six limbs of 24 bits, the lowest first, with `negative` beside them.

local wide = {}
do
    local LIMB = 2 ^ 24
    local LIMBS = 6
    local floor = math.floor

    -- Which library has bits depends on the version of Lua; from 5.3 on it is the language.
    local library = bit32 or bit
    local function by_language(source)
        return assert(load("return function(a, b) return a " .. source .. " b end"))()
    end
    wide.xor32 = library and library.bxor or by_language("~")
    wide.and32 = library and library.band or by_language("&")

    -- A limb or a byte at a time, so that signed results of 32 bits cannot be meant.
    local function and_limb(a, b)
        return wide.and32(floor(a), floor(b)) % LIMB
    end

    function wide.zero()
        return { 0, 0, 0, 0, 0, 0, negative = false }
    end

    -- A number that a double holds, or a wide one as it is.
    function wide.of(number)
        if type(number) == "table" then
            return number
        end
        local result = wide.zero()
        result.negative = number < 0
        number = math.abs(number)
        for place = 1, 3 do
            result[place] = number % LIMB
            number = floor(number / LIMB)
        end
        return result
    end

    function wide.is_zero(a)
        for place = 1, LIMBS do
            if a[place] ~= 0 then
                return false
            end
        end
        return true
    end

    -- -1, 0 or 1, without the signs.
    local function compare_magnitudes(a, b)
        for place = LIMBS, 1, -1 do
            if a[place] ~= b[place] then
                return a[place] < b[place] and -1 or 1
            end
        end
        return 0
    end

    function wide.compare(a, b)
        local a_negative = a.negative and not wide.is_zero(a)
        local b_negative = b.negative and not wide.is_zero(b)
        if a_negative ~= b_negative then
            return a_negative and -1 or 1
        end
        local order = compare_magnitudes(a, b)
        return a_negative and -order or order
    end

    local function add_magnitudes(a, b)
        local sum, carry = wide.zero(), 0
        for place = 1, LIMBS do
            local limb = a[place] + b[place] + carry
            sum[place] = limb % LIMB
            carry = floor(limb / LIMB)
        end
        return sum
    end

    -- The first must not be the smaller one.
    local function subtract_magnitudes(a, b)
        local rest, borrow = wide.zero(), 0
        for place = 1, LIMBS do
            local limb = a[place] - b[place] - borrow
            rest[place] = limb % LIMB
            borrow = limb < 0 and 1 or 0
        end
        return rest
    end

    function wide.add(a, b)
        local sum
        if a.negative == b.negative then
            sum = add_magnitudes(a, b)
            sum.negative = a.negative
        elseif compare_magnitudes(a, b) >= 0 then
            sum = subtract_magnitudes(a, b)
            sum.negative = a.negative
        else
            sum = subtract_magnitudes(b, a)
            sum.negative = b.negative
        end
        return sum
    end

    -- 2^bits.
    function wide.power(bits)
        local result = wide.zero()
        result[floor(bits / 24) + 1] = 2 ^ (bits % 24)
        return result
    end

    function wide.bit(a, place)
        return floor(a[floor(place / 24) + 1] / 2 ^ (place % 24)) % 2
    end

    -- The bits as a number in two's complement of this width.
    function wide.sign_extended(bits, width)
        if width == 0 or wide.bit(bits, width - 1) == 0 then
            return bits
        end
        local result = subtract_magnitudes(wide.power(width), bits)
        result.negative = true
        return result
    end

    -- In two's complement of 128 bits, as what is not negative.
    local function complement(a)
        if not a.negative or wide.is_zero(a) then
            return a
        end
        return subtract_magnitudes(wide.power(128), a)
    end

    -- The bits that both have; negative only if both are and both may be.
    function wide.common_bits(a, b, signed)
        local first, second = complement(a), complement(b)
        local result = wide.zero()
        for place = 1, LIMBS do
            result[place] = and_limb(first[place], second[place])
        end
        return signed and wide.sign_extended(result, 128) or result
    end

    -- Half of it, rounded down.
    function wide.half(a)
        local result, carry = wide.zero(), 0
        for place = LIMBS, 1, -1 do
            local limb = a[place] + carry * LIMB
            result[place] = floor(limb / 2)
            carry = limb % 2
        end
        return result
    end

    -- Adds 7 bits of a variable-length integer; bits beyond the last limb are dropped.
    function wide.add_group(a, group, shift)
        local place = floor(shift / 24) + 1
        local limb = group * 2 ^ (shift % 24)
        a[place] = a[place] + limb % LIMB
        if place < LIMBS then
            a[place + 1] = a[place + 1] + floor(limb / LIMB)
        end
    end

    -- The nearest double with so many bits; of two as near, the one with a last bit of zero.
    function wide.nearest(a, precision)
        local length = LIMBS * 24
        while length > 0 and wide.bit(a, length - 1) == 0 do
            length = length - 1
        end
        local lowest = math.max(length - precision, 0)
        local value = 0
        for place = length - 1, lowest, -1 do
            value = value * 2 + wide.bit(a, place)
        end
        if lowest > 0 and wide.bit(a, lowest - 1) == 1 then
            local is_tie = true
            for place = 0, lowest - 2 do
                is_tie = is_tie and wide.bit(a, place) == 0
            end
            if not is_tie or value % 2 == 1 then
                value = value + 1
            end
        end
        value = value * 2 ^ lowest
        return a.negative and -value or value
    end

    function wide.text(a)
        local limbs, parts = { a[1], a[2], a[3], a[4], a[5], a[6] }, {}
        repeat
            local rest, all = 0, 0
            for place = LIMBS, 1, -1 do
                local limb = rest * LIMB + limbs[place]
                limbs[place] = floor(limb / 1e7)
                rest = limb % 1e7
                all = all + limbs[place]
            end
            table.insert(parts, 1, string.format(all == 0 and "%.0f" or "%07.0f", rest))
        until all == 0
        return (a.negative and not wide.is_zero(a) and "-" or "") .. table.concat(parts)
    end

    -- As Wireshark's integers of 64 bits: both halves of the two's complement.
    function wide.halves(a)
        local bits = complement(a)
        local low = bits[1] + bits[2] % 256 * LIMB
        local high = floor(bits[2] / 256) + bits[3] % 65536 * 65536
        return low, high
    end
end
