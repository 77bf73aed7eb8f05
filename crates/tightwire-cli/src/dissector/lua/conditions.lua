-- Conditions: whether a field is sent, by the values of the fields before it. What cannot be
-- evaluated is nothing, and the packet is not read any further.

local conditions = {}
do
    -- What a field that is not sent counts as.
    local DEFAULTS = {
        bool = { kind = "bool", value = false },
        float = { kind = "number", type = "float", value = 0 },
        compressed_float = { kind = "number", type = "float", value = 0 },
        double = { kind = "number", type = "double", value = 0 },
        option = { kind = "option", value = false },
    }
    for _, kind in ipairs({ "bits", "int", "fixed", "varint", "enumerate" }) do
        DEFAULTS[kind] = { kind = "number", type = "unsigned", value = 0 }
    end
    for _, kind in ipairs({ "list", "string", "wide_string", "blob" }) do
        DEFAULTS[kind] = { kind = "length", value = 0 }
    end

    -- The form of the field that the names lead to, from these fields on and through structs.
    local function resolve(fields, count, path, from)
        for place = 1, count do
            local field = fields[place]
            local shape = shapes[field.shape]
            if field.name == path[from] and shape.kind ~= "check" then
                if from == #path then
                    return shape
                elseif shape.kind == "struct" then
                    return resolve(shape.fields, #shape.fields, path, from + 1)
                end
                return nil
            end
        end
    end

    -- `path` begins with the operator.
    local function lookup(evaluation, path)
        local fields, count, values = evaluation.fields, evaluation.count, evaluation.values
        for place = 2, #path do
            evaluation.steps = evaluation.steps + count
            local value = values[path[place]]
            if not value then
                local shape = resolve(fields, count, path, place)
                return shape and (DEFAULTS[shape.kind] or { kind = "other", shape = shape.kind })
            elseif place == #path then
                return value
            elseif value.kind ~= "struct" then
                return nil
            end
            fields, count, values = value.fields, #value.fields, value.values
        end
    end

    local function as_float(operand, precision)
        local value = operand.value
        if operand.type == "unsigned" or operand.type == "signed" then
            value = wide.nearest(wide.of(value), precision)
        end
        return precision == 24 and floats.single(value) or value
    end

    -- -1, 0 or 1; nothing if one is not a number.
    local function compare(a, b)
        local precision
        if a.type == "float" or b.type == "float" then
            precision = 24
        elseif a.type == "double" or b.type == "double" then
            precision = 53
        else
            return wide.compare(wide.of(a.value), wide.of(b.value))
        end
        local first, second = as_float(a, precision), as_float(b, precision)
        if first < second then
            return -1
        elseif first > second then
            return 1
        end
        return first == second and 0 or nil
    end

    local COMPARISONS = {
        ["=="] = function(order) return order == 0 end,
        ["!="] = function(order) return order ~= 0 end,
        ["<"] = function(order) return order == -1 end,
        ["<="] = function(order) return order == -1 or order == 0 end,
        [">"] = function(order) return order == 1 end,
        [">="] = function(order) return order == 1 or order == 0 end,
    }

    local function bool(value)
        return { kind = "bool", value = value }
    end

    local same

    -- Whether all fields are equal. One that is there on one side alone comes behind others that
    -- differ.
    local function same_fields(evaluation, a, b)
        for _, side in ipairs({ a, b }) do
            for _, field in ipairs(side.fields) do
                local first, second = a.values[field.name], b.values[field.name]
                if (first == nil) ~= (second == nil) then
                    return false
                end
                local is_same = first == nil or side == b or same(evaluation, first, second)
                if not is_same then
                    return is_same
                end
            end
        end
        return true
    end

    local function same_elements(evaluation, a, b)
        for place = 1, a.value do
            local first, second = a.elements[place], b.elements[place]
            local is_same = first == nil and second == nil
            if first and second then
                is_same = same(evaluation, first, second)
            end
            if not is_same then
                return is_same
            end
        end
        return true
    end

    -- Whether two values are equal; nothing if they are of different kinds, or too large.
    same = function(evaluation, a, b)
        evaluation.steps = evaluation.steps + 1
        if evaluation.steps > evaluation.limit or a.kind ~= b.kind then
            return nil
        elseif a.kind == "number" then
            return compare(a, b) == 0
        elseif a.kind == "bool" then
            return a.value == b.value
        elseif a.kind == "struct" or a.kind == "variant" then
            local is_name = not (a.values and b.values)
            return a.value == b.value and (is_name or same_fields(evaluation, a, b))
        elseif a.kind == "option" then
            if not (a.value and b.value and a.inside and b.inside) then
                return a.value == b.value
            end
            return same(evaluation, a.inside, b.inside)
        elseif a.kind == "length" then
            -- What was not sent is empty, and of no kind.
            if not (a.of and b.of) then
                return a.value == b.value
            elseif a.of ~= b.of then
                return nil
            elseif a.of ~= "list" then
                return a.bytes == b.bytes
            end
            return a.value == b.value and same_elements(evaluation, a, b)
        elseif a.kind == "vector" then
            for place = 1, math.max(#a.parts, #b.parts) do
                if a.parts[place] ~= b.parts[place] then
                    return false
                end
            end
            return true
        elseif a.kind == "other" then
            -- Neither was sent: both have the default of their type.
            return a.shape == b.shape or nil
        end
    end

    local function compared(evaluation, operator, a, b)
        if a.kind == "number" and b.kind == "number" then
            return bool(COMPARISONS[operator](compare(a, b)))
        elseif operator == "==" or operator == "!=" then
            local is_same = same(evaluation, a, b)
            if is_same ~= nil then
                return bool(is_same == (operator == "=="))
            end
        end
    end

    local function common_bits(a, b)
        if a.kind == "bool" and b.kind == "bool" then
            return bool(a.value and b.value)
        end
        local integers = { unsigned = true, signed = true }
        if a.kind ~= "number" or b.kind ~= "number" or not integers[a.type] or not integers[b.type] then
            return nil
        end
        local signed = a.type == "signed" and b.type == "signed"
        local bits = wide.common_bits(wide.of(a.value), wide.of(b.value), signed)
        return { kind = "number", type = signed and "signed" or "unsigned", value = bits }
    end

    local holds

    local function operand(evaluation, condition)
        evaluation.steps = evaluation.steps + 1
        if evaluation.steps > evaluation.limit then
            return nil
        end
        local operator = condition[1]
        if operator == "field" then
            return lookup(evaluation, condition)
        elseif operator == "bool" or operator == "variant" then
            return { kind = operator, value = condition[2] }
        elseif operator == "number" then
            return { kind = "number", type = condition[2], value = condition[3] }
        elseif operator == "len" then
            local of = operand(evaluation, condition[2])
            if of and of.kind == "length" then
                return { kind = "number", type = "unsigned", value = of.value }
            end
            return nil
        elseif operator == "is_some" then
            local of = operand(evaluation, condition[2])
            return of and of.kind == "option" and bool(of.value) or nil
        elseif operator == "!" then
            local of = holds(evaluation, condition[2])
            if of ~= nil then
                return bool(not of)
            end
            return nil
        elseif operator == "&&" or operator == "||" then
            local first = holds(evaluation, condition[2])
            if first == nil or first == (operator == "||") then
                return first ~= nil and bool(first) or nil
            end
            local second = holds(evaluation, condition[3])
            return second ~= nil and bool(second) or nil
        elseif operator == "source" then
            return nil
        end
        local a = operand(evaluation, condition[2])
        local b = a and operand(evaluation, condition[3])
        if not b then
            return nil
        end
        if operator == "&" then
            return common_bits(a, b)
        end
        return compared(evaluation, operator, a, b)
    end

    -- Whether the condition holds; nothing if that cannot be said.
    holds = function(evaluation, condition)
        local result = operand(evaluation, condition)
        if result and result.kind == "bool" then
            return result.value
        end
    end
    conditions.holds = holds
end
