-- Reads a packet as the schema says, and shows it as a tree.

local walk = {}
do
    -- Wireshark gives up at a million; what is not shown is read all the same.
    local MAX_ITEMS = 50000
    -- How many more elements than bits a list may have.
    local FREE_ELEMENTS = 1024

    local Walk = {}
    Walk.__index = Walk

    -- `show` has the fields and the bytes to show them in; `base` is where the packet begins there.
    function walk.new(packet_reader, show, base, tree)
        local bits = packet_reader.length
        local self = {
            reader = packet_reader,
            show = show,
            base = base,
            open = { { kind = "object", name = description.root_name, tree = tree } },
            items = 0,
            -- A schema can ask for work that no bit pays for: there is an end to it, the library's.
            values = 0,
            steps = 0,
            max_values = bits * 4 + 2 ^ 14,
            max_steps = bits * 64 + 2 ^ 17,
            parts = {},
        }
        return setmetatable(self, Walk)
    end

    function Walk:top()
        return self.open[#self.open]
    end

    -- An item for these bits: a field with its value if it has one, or a line of text, which nobody
    -- needs where nothing is shown.
    function Walk:item(tree, first_bit, last_bit, label, field, typed)
        self.items = self.items + 1
        if self.items > MAX_ITEMS or not (field or self.show.visible) then
            return nil
        end
        local first = math.floor(first_bit / 8)
        local length = last_bit > first_bit and math.ceil(last_bit / 8) - first or 0
        local range = self.show.tvb(self.base + first, length)
        local item
        if not field then
            return tree:add(range, label)
        elseif typed == nil then
            item = tree:add(field, range)
        else
            item = tree:add(field, range, typed)
        end
        if self.show.visible then
            item:set_text(label)
        end
        return item
    end

    function Walk:enter(kind, name, label, field)
        local outer, start = self:top(), self.reader.position
        local group = { kind = kind, name = name, start = start, tree = outer.tree }
        if label then
            group.item = self:item(outer.tree, start, start, label, field)
            group.tree = group.item or outer.tree
        end
        table.insert(self.open, group)
        return group
    end

    function Walk:leave()
        local group = table.remove(self.open)
        local first, last = group.start, self.reader.position
        if group.item and last > first then
            group.item:set_len(math.ceil(last / 8) - math.floor(first / 8))
        end
    end

    -- The names that lead to what is read, and this one.
    function Walk:path(name)
        local path = ""
        local function step(step_name)
            if step_name and step_name ~= "" then
                local is_joined = path == "" or string.sub(step_name, 1, 1) == "["
                path = path .. (is_joined and "" or ".") .. step_name
            end
        end
        for _, group in ipairs(self.open) do
            step(group.name)
        end
        step(name)
        return path
    end

    -- What a value without a name of its own is called: as what it is in.
    function Walk:shown_name(name)
        local place = #self.open
        while not name and place > 0 do
            name = self.open[place].name
            place = place - 1
        end
        return name
    end

    function Walk:label(shape, name, start, value_text)
        local value = value_text and ": " .. value_text or ""
        local bits = self.reader.position - start
        local form = "%s%s (%s; bit %.0f, %.0f bit%s)"
        local plural = bits == 1 and "" or "s"
        return string.format(form, self:shown_name(name), value, shape.text, start, bits, plural)
    end

    -- Runs an operation and shows its value; `name_of` is how a number is called.
    function Walk:operation(shape, name, run, name_of)
        local start = self.reader.position
        self.reader.last = 0
        self.running = { shape = shape, name = name, start = start }
        local value = (run or operations[shape.kind])(self.reader, shape)
        self.running = nil
        local label
        if self.show.visible then
            local value_text = value.text and (name_of or value.text)(value)
            label = self:label(shape, name, start, value_text)
        end
        local first, last = start, self.reader.position
        if value.first then
            first, last = value.first * 8, (value.first + value.length) * 8
        end
        local field = self.show.fields[shape.filter]
        local item = self:item(self:top().tree, first, last, label, field, value.typed)
        for place, part in ipairs(item and value.parts or {}) do
            local filter, part_label = shape.parts[place], nil
            if self.show.visible then
                part_label = string.match(filter, "[^.]*$") .. ": " .. floats.text(part)
            end
            self:item(item, first, last, part_label, self.show.fields[filter], part)
        end
        return value, item
    end

    function Walk:spend()
        if self.values > self.max_values or self.steps > self.max_steps then
            self.reader:refuse("unexpected_end", self.reader.position)
        end
    end

    function Walk:undescribed(name)
        local label = self:shown_name(name) .. ": not described by the schema"
        self:enter("refused", name, label)
        self.reader:refuse("undescribed", self.reader.position)
    end

    local SCOPED = { struct = true, enum = true, opaque = true }

    -- The value of a shape, as conditions see it; `name` is for what has no scope around it.
    function Walk:shape(index, name)
        self.values = self.values + 1
        self.steps = self.steps + 1
        self:spend()
        local shape = shapes[index]
        local run = self["read_" .. shape.kind]
        if run then
            return run(self, shape, name)
        elseif shape.undescribed then
            return self:undescribed(name)
        end
        return (self:operation(shape, name)).operand
    end

    function Walk:read_struct(shape)
        return { kind = "struct", fields = shape.fields, values = self:fields(shape.fields) }
    end

    function Walk:read_enum(shape)
        local start = self.reader.position
        local function variant_of(ordinal)
            return shape.variants[ordinal.operand.value + 1]
        end
        local ordinal, item = self:operation(shape, nil, operations.enumerate, function(ordinal)
            return variant_of(ordinal).shown
        end)
        local variant = variant_of(ordinal)
        if #self.open == 1 then
            table.insert(self.parts, variant.shown)
        end
        local values = {}
        if #variant.fields > 0 then
            local group = self:enter("variant", variant.shown)
            -- The fields stand under the name of their variant.
            group.item, group.tree, group.start = item, item or group.tree, start
            values = self:fields(variant.fields)
            self:leave()
        end
        return { kind = "variant", value = variant.name, fields = variant.fields, values = values }
    end

    function Walk:read_option(shape, name)
        local group = self:enter("option", name, self:shown_name(name))
        local is_some = self:operation(shapes[shape.is_some], "is_some").operand.value
        if group.item then
            group.item:set_text(self:shown_name(name) .. (is_some and ": Some" or ": None"))
        end
        local inside
        if is_some then
            inside = self:shape(shape.element)
        end
        self:leave()
        return { kind = "option", value = is_some, inside = inside }
    end

    function Walk:elements(shape, length)
        local element, elements = shapes[shape.element], {}
        for place = 0, length - 1 do
            local name = string.format("[%.0f]", place)
            local field = element.kind == "struct" and self.show.fields[element.filter] or nil
            -- One operation is its own line, and so is the ordinal of an enum.
            local label = element.element and name
            if element.kind == "struct" then
                label = name .. ": " .. element.name
            end
            self:enter("element", name, label, field)
            elements[place + 1] = self:shape(shape.element)
            self:leave()
        end
        return { kind = "length", value = length, of = "list", elements = elements }
    end

    function Walk:read_list(shape, name)
        local group = self:enter("array", name, self:shown_name(name))
        local length = self:operation(shapes[shape.length], "len").operand.value
        length = type(length) == "table" and wide.nearest(length, 53) or length
        if group.item then
            group.item:set_text(string.format("%s: %.0f elements", self:shown_name(name), length))
        end
        if length > self.reader:remaining() + FREE_ELEMENTS then
            self.reader:refuse("unexpected_end", self.reader.position)
        end
        local list = self:elements(shape, length)
        self:leave()
        return list
    end

    function Walk:read_array(shape, name)
        local label = string.format("%s: %.0f elements", self:shown_name(name), shape.length)
        self:enter("fixed_array", name, label)
        local list = self:elements(shape, shape.length)
        self:leave()
        return list
    end

    function Walk:fields(fields)
        local values = {}
        for place, field in ipairs(fields) do
            self.steps = self.steps + 1
            if self:is_sent(fields, place, values) then
                values[field.name] = self:field(field) or values[field.name]
            end
        end
        return values
    end

    function Walk:is_sent(fields, place, values)
        local field = fields[place]
        if not field.when then
            return true
        end
        local evaluation = { fields = fields, count = place - 1, values = values, steps = 0 }
        evaluation.limit = self.max_steps - self.steps
        local holds = conditions.holds(evaluation, field.when)
        self.steps = self.steps + evaluation.steps
        self:spend()
        if holds == nil then
            self:undescribed(field.shown or field.name)
        end
        if holds and #self.open == 1 and shapes[field.shape].kind == "struct" then
            table.insert(self.parts, field.shown or field.name)
        end
        return holds
    end

    function Walk:field(field)
        local shape, name = shapes[field.shape], field.shown or field.name
        if not SCOPED[shape.kind] then
            return self:shape(field.shape, name)
        end
        -- The line of an enum is its ordinal.
        local label = shape.kind == "struct" and name .. ": " .. shape.name or nil
        self:enter("object", name, label, self.show.fields[shape.filter])
        local value = self:shape(field.shape)
        self:leave()
        return value
    end

    local function sentence(refusal, path, shape, value_text, group)
        local where = string.format("%s at bit %.0f: ", path, refusal.bit)
        local advice = reader.ADVICE[refusal.refused]
        if shape and refusal.refused == "out_of_range" and shape.range then
            return where .. value_text .. " is not in " .. shape.range
        elseif shape and refusal.refused == "out_of_range" and shape.count then
            return string.format("%sthere is no variant %s, only %.0f", where, value_text, shape.count)
        elseif shape then
            return where .. advice .. " (" .. shape.text .. ")"
        elseif group.kind == "object" or group.kind == "element" then
            return where .. advice
        end
        return where .. advice .. " (" .. group.kind .. ")"
    end

    -- What was refused: which item shows it, and the sentence that the library says.
    function Walk:blame(refusal)
        local running, group = self.running, self:top()
        if refusal.refused == "trailing_data" then
            refusal.item = group.tree
            refusal.sentence = string.format("at bit %.0f: %s", refusal.bit, reader.ADVICE.trailing_data)
        elseif running then
            local value_text
            if refusal.refused == "out_of_range" then
                value_text = operations.refused_text(self.reader, running.shape)
            end
            local label = self:label(running.shape, running.name, running.start, value_text)
            local position = self.reader.position
            refusal.item = self:item(group.tree, running.start, position, label)
            refusal.path = self:path(running.name)
            refusal.sentence = sentence(refusal, refusal.path, running.shape, value_text)
        else
            refusal.item = group.tree
            refusal.path = self:path()
            refusal.sentence = sentence(refusal, refusal.path, nil, nil, group)
        end
        while #self.open > 1 do
            self:leave()
        end
        return refusal
    end

    -- Whether there were more items than are shown.
    function Walk:is_cut()
        return self.items > MAX_ITEMS
    end

    -- Reads all; the refusal, if there was one.
    function Walk:read()
        local is_read, refusal = pcall(function()
            local root = shapes[description.root]
            local top = self:top()
            if root.kind == "struct" then
                local field = self.show.fields[root.filter]
                top.item = self:item(top.tree, 0, self.reader.length, root.name, field)
                top.tree = top.item or top.tree
            end
            self:shape(description.root)
            if self.reader.checks then
                self:operation(shapes[description.end_check], "end")
            end
            self.reader:finish()
        end)
        if is_read then
            return nil
        elseif type(refusal) == "table" and refusal.refused then
            return self:blame(refusal)
        end
        error(refusal, 0)
    end
end
