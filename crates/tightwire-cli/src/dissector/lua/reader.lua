-- Reads bits, and refuses as the library does: what was wrong, and at which bit of the packet.

local reader = {}
do
    local floor, byte = math.floor, string.byte

    -- What was wrong, in the words of the library.
    reader.ADVICE = {
        unexpected_end = "the packet ends before this value does",
        out_of_range = "the value is not in its declared range",
        padding = "a padding bit is set where the writer leaves zeros",
        malformed_text = "the text is not well-formed Unicode",
        interior_nul = "the text contains a zero character",
        overlong = "the integer is written with more bytes than it needs",
        not_unit = "the numbers are no unit quaternion or vector: normalise before sending",
        check_failed = "a serialization check failed: the sender writes other fields than are read",
        trailing_data = "data follows the end of the packet",
        undescribed = "the schema does not describe this value: derive `Wire` for its type",
    }

    local Reader = {}
    Reader.__index = Reader

    -- `packs` is whether numbers take the fewest bits, and not whole bytes.
    function reader.new(bytes, packs)
        return setmetatable({ bytes = bytes, length = #bytes * 8, position = 0, packs = packs }, Reader)
    end

    -- Ends the reading: caught by whoever reads the packet.
    function Reader:refuse(kind, bit)
        error({ refused = kind, bit = bit }, 0)
    end

    function Reader:remaining()
        return self.length - self.position
    end

    -- Up to 40 bits that are known to be there.
    local function taken(self, width)
        local first = floor(self.position / 8) + 1
        local last = floor((self.position + width + 7) / 8)
        local word, scale = 0, 1
        for place = first, last do
            word = word + byte(self.bytes, place) * scale
            scale = scale * 256
        end
        word = floor(word / 2 ^ (self.position % 8)) % 2 ^ width
        self.position = self.position + width
        return word
    end

    local function whole_bytes(width)
        local bits = 8
        while bits < width do
            bits = bits * 2
        end
        return width == 0 and 0 or bits
    end

    -- As limbs, up to 64 bits.
    local function limbs(self, width)
        if self:remaining() < width then
            self:refuse("unexpected_end", self.position)
        end
        local result, place = wide.zero(), 1
        while width > 0 do
            local part = math.min(width, 24)
            result[place] = taken(self, part)
            width = width - part
            place = place + 1
        end
        return result
    end

    -- A field of up to 64 bits: a number up to 32 of them, and limbs above. `self.last` keeps what
    -- the operation has taken: a refused value is shown.
    function Reader:bits(width)
        local start = self.position
        local stored = self.packs and width or whole_bytes(width)
        local value
        if stored <= 32 then
            if self:remaining() < stored then
                self:refuse("unexpected_end", start)
            end
            value = taken(self, stored)
            if value >= 2 ^ width then
                self:refuse("out_of_range", start)
            end
        else
            value = limbs(self, stored)
            if wide.compare(value, wide.power(width)) >= 0 then
                self:refuse("out_of_range", start)
            end
            if width <= 48 then
                value = value[1] + value[2] * 2 ^ 24
            end
        end
        self.last = value
        return value
    end

    -- As limbs whatever the width, up to 128: the lowest 64 bits, then the others.
    function Reader:wide_bits(width)
        local low = wide.of(self:bits(math.min(width, 64)))
        if width > 64 then
            local high = wide.of(self:bits(width - 64))
            -- 64 bits are two limbs and 16 bits of the third.
            local all = { low[1], low[2], low[3], 0, 0, 0, negative = false }
            local carry = 0
            for place = 1, 3 do
                local limb = high[place] * 65536 + carry
                all[place + 2] = all[place + 2] + limb % 2 ^ 24
                carry = floor(limb / 2 ^ 24)
            end
            all[6] = all[6] + carry
            low = all
        end
        self.last = low
        return low
    end

    -- A number of `0..=span` in the bits that the span needs, below 2^48.
    function Reader:offset(width, span)
        local start = self.position
        local value = self:bits(width)
        if value > span then
            self:refuse("out_of_range", start)
        end
        return value
    end

    function Reader:align()
        local padding = -self.position % 8
        if padding > 0 then
            local before = self.position
            if taken(self, padding) ~= 0 then
                self.position = before
                self:refuse("padding", before)
            end
        end
    end

    -- Aligned bytes.
    function Reader:whole(length)
        self:align()
        if self:remaining() < length * 8 then
            self:refuse("unexpected_end", self.position)
        end
        local first = self.position / 8
        self.position = self.position + length * 8
        return string.sub(self.bytes, first + 1, first + length)
    end

    -- All must have been read, but for zeros up to the last whole byte.
    function Reader:finish()
        local rest, position = self:remaining(), self.position
        if rest >= 8 or rest > 0 and taken(self, rest) ~= 0 then
            self.position = position
            self:refuse("trailing_data", position)
        end
    end
end
