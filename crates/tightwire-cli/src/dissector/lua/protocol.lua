-- The protocol: what stands around a packet, the verdict on it, and how Wireshark knows of it.

do
    local GOOD, BAD = 1, 0
    local STATUS = { [GOOD] = "Good", [BAD] = "Bad" }

    -- A game may be called as a protocol that Wireshark has.
    local function new_protocol()
        for _, name in ipairs({ description.name, "tw_" .. description.name }) do
            local is_free, protocol = pcall(Proto, name, description.title)
            if is_free then
                return protocol, name .. "."
            end
        end
        error("Wireshark has a protocol " .. description.name .. " already: choose another with --name")
    end

    local protocol, prefix = new_protocol()
    local fields, list = {}, {}

    local function register(filter, new, ...)
        if not fields[filter] then
            fields[filter] = new(prefix .. filter, ...)
            table.insert(list, fields[filter])
        end
    end

    local NEW = {
        none = function(filter, name) return ProtoField.none(filter, name) end,
        bool = function(filter, name) return ProtoField.bool(filter, name) end,
        float = function(filter, name) return ProtoField.float(filter, name) end,
        double = function(filter, name) return ProtoField.double(filter, name) end,
        bytes = function(filter, name) return ProtoField.bytes(filter, name) end,
        string = function(filter, name) return ProtoField.string(filter, name, base.UNICODE) end,
    }
    for _, kind in ipairs({ "uint32", "int32", "uint64", "int64" }) do
        NEW[kind] = function(filter, name, values)
            return ProtoField[kind](filter, name, base.DEC, values)
        end
    end

    for _, shape in ipairs(shapes) do
        if shape.filter then
            local values
            for ordinal, variant in ipairs(shape.variants or {}) do
                values = values or {}
                values[ordinal - 1] = variant.name
            end
            register(shape.filter, NEW[shape.type], string.match(shape.filter, "[^.]*$"), values)
            for _, part in ipairs(shape.parts or {}) do
                register(part, NEW.float, string.match(part, "[^.]*$"))
            end
        end
    end
    register("crc32", ProtoField.uint32, "CRC-32", base.HEX)
    register("crc32.status", ProtoField.uint8, "CRC-32 status", base.DEC, STATUS)
    register("protocol_id", ProtoField.uint64, "Protocol id", base.HEX)
    register("protocol_id.status", ProtoField.uint8, "Protocol id status", base.DEC, STATUS)
    register("data", ProtoField.bytes, "Data")
    register("undescribed", ProtoField.bytes, "Not described by the schema")
    register("refused", ProtoField.string, "Refused", base.UNICODE)
    register("refused.reason", ProtoField.string, "Reason", base.UNICODE)
    register("refused.field", ProtoField.string, "Field", base.UNICODE)
    register("refused.bit", ProtoField.uint32, "Bit", base.DEC)
    protocol.fields = list

    local experts, expert_list = {}, {}
    local function expect(kind, advice, group, severity)
        experts[kind] = ProtoExpert.new(prefix .. "expert." .. kind, advice, group, severity)
        table.insert(expert_list, experts[kind])
    end
    for kind, advice in pairs(reader.ADVICE) do
        if kind ~= "undescribed" then
            expect(kind, advice, expert.group.MALFORMED, expert.severity.ERROR)
        end
    end
    expect("undescribed", reader.ADVICE.undescribed, expert.group.UNDECODED, expert.severity.NOTE)
    expect("too_short", "too short", expert.group.MALFORMED, expert.severity.ERROR)
    expect("wrong_protocol", "wrong protocol id, or corrupt", expert.group.CHECKSUM, expert.severity.ERROR)
    expect("cut", "the capture does not hold all of it", expert.group.UNDECODED, expert.severity.WARN)
    expect("not_shown", "not all fields are shown", expert.group.UNDECODED, expert.severity.NOTE)
    expect("failed", "the dissector failed", expert.group.UNDECODED, expert.severity.ERROR)
    protocol.experts = expert_list

    local CRC = {}
    for place = 0, 255 do
        local value = place
        for _ = 1, 8 do
            local half = math.floor(value / 2)
            value = value % 2 == 1 and wide.xor32(half, 0xedb88320) % 2 ^ 32 or half
        end
        CRC[place] = value
    end

    local function crc32(bytes)
        local crc = 0xffffffff
        for place = 1, #bytes do
            local index = wide.xor32(math.floor(crc % 256), string.byte(bytes, place)) % 256
            crc = wide.xor32(math.floor(crc / 256), math.floor(CRC[index])) % 2 ^ 32
        end
        return 0xffffffff - crc
    end

    local Verdict = {}
    Verdict.__index = Verdict

    -- Says why the datagram is refused.
    function Verdict:refuse(kind, sentence, item, path, bit)
        local line = self.tree:add(fields.refused, sentence)
        line:set_generated()
        line:add(fields["refused.reason"], kind):set_generated()
        if path then
            line:add(fields["refused.field"], path):set_generated()
        end
        if bit then
            line:add(fields["refused.bit"], bit):set_generated()
        end
        (item or line):add_proto_expert_info(experts[kind], sentence)
        self.pinfo.cols.info = "Refused: " .. sentence
    end

    local GATES = { none = 0, sealed = 0, id = 8, crc32 = 4 }
    local WRONG = "wrong protocol id, or corrupt: if every packet is refused, compare the identities of both sides"

    -- Where the packet begins, if what stands before it is right.
    function Verdict:gate()
        local length, minimum = self.tvb:len(), GATES[description.protection]
        if length < minimum then
            local form = "too short: %.0f bytes, where every packet has at least %.0f"
            self:refuse("too_short", string.format(form, length, minimum))
            return nil
        elseif minimum == 0 then
            return 0
        end
        local range = self.tvb(0, minimum)
        local item, is_good
        if description.protection == "crc32" then
            local expected = crc32(description.id .. self.tvb:raw(minimum))
            is_good = range:le_uint() == expected
            item = self.tree:add_le(fields.crc32, range)
            item:append_text(is_good and " [correct]" or string.format(" [should be 0x%08x]", expected))
        else
            is_good = self.tvb:raw(0, minimum) == description.id
            item = self.tree:add_le(fields.protocol_id, range)
            item:append_text(is_good and " [correct]" or " [of another protocol]")
        end
        local status = fields[description.protection == "crc32" and "crc32.status" or "protocol_id.status"]
        item:add(status, range, is_good and GOOD or BAD):set_generated()
        if not is_good then
            self:refuse("wrong_protocol", WRONG, item)
            return nil
        end
        return minimum
    end

    function Verdict:dissect()
        local tvb = self.tvb
        if tvb:reported_len() > tvb:len() then
            local form = "the capture holds %.0f of %.0f bytes: record whole packets to have them read"
            local sentence = string.format(form, tvb:len(), tvb:reported_len())
            self.tree:add_proto_expert_info(experts.cut, sentence)
            self.tree:add(fields.data, tvb())
            self.pinfo.cols.info = sentence
            return
        end
        local begin = self:gate()
        if not begin then
            self.tree:add(fields.data, tvb())
            return
        end
        local bytes = begin < tvb:len() and tvb:raw(begin) or ""
        local packet_reader = reader.new(bytes, description.packing == "bits")
        packet_reader.checks = description.end_check ~= nil
        local show = { tvb = tvb, fields = fields, visible = self.tree.visible }
        local reading = walk.new(packet_reader, show, begin, self.tree)
        local refusal = reading:read()
        self.pinfo.cols.info = table.concat({ description.root_name, table.concat(reading.parts, ", ") }, " ")
        if reading:is_cut() then
            self.tree:add_proto_expert_info(experts.not_shown, "more fields than are shown")
        end
        if refusal then
            if refusal.refused == "undescribed" then
                local first = math.floor(refusal.bit / 8)
                local rest = tvb(begin + first, tvb:len() - begin - first)
                local item = refusal.item or self.tree
                item:add(fields.undescribed, rest)
            end
            self:refuse(refusal.refused, refusal.sentence, refusal.item, refusal.path, refusal.bit)
        end
    end

    -- Whether the bytes are a message with its header. What travels is encrypted, and only a capture that
    -- the session wrote has such: anything else on the port is for others to read.
    local function is_record(tvb)
        return tvb:len() >= 5 and tvb:reported_len() == 5 + tvb(2, 2):le_uint()
    end

    function protocol.dissector(tvb, pinfo, tree)
        if description.is_session and not is_record(tvb) then
            return 0
        end
        pinfo.cols.protocol = description.column
        local root = tree:add(protocol, tvb())
        root:set_text(description.title)
        local verdict = setmetatable({ tvb = tvb, pinfo = pinfo, tree = root }, Verdict)
        -- A packet may be hostile, and an error here must not end the dissection of the frame.
        local is_done, failure = pcall(verdict.dissect, verdict)
        if not is_done then
            root:add_proto_expert_info(experts.failed, "the dissector failed: " .. tostring(failure))
        end
        return tvb:len()
    end

    DissectorTable.get("udp.port"):add(description.port, protocol)
end
