// Package describe generates the JSON Schema of study files, and commented template studies.
package describe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/study/timing"
)

// schema is one JSON Schema, by keyword.
type schema = map[string]any

// Schema returns the JSON Schema (2020-12) of study files, generated from the catalog, for
// editors. Parse is stricter: a schema cannot express dependencies between keys, or the bounds
// of quantities.
func Schema(c *study.Catalog) ([]byte, error) {
	properties := schema{
		"study":      schema{"type": "string", "pattern": `^[A-Za-z0-9][A-Za-z0-9._-]*$`, "maxLength": 64},
		"question":   schema{"type": "string", "pattern": `\S`},
		"platform":   useSchema(c, "platform"),
		"workload":   useSchema(c, "workload"),
		"service":    useSchema(c, "service"),
		"monitor":    useSchema(c, "monitor"),
		"machines":   machinesSchema(),
		"tiles":      machinesSchema(),
		"operations": operationsSchema(),
		"groups":     groupsSchema(c),
		"factors":    factorsSchema(c),
		"commands":   commandsSchema(),
		"load":       loadSchema(),
		"measure":    measureSchema(),
		"headline":   headlineSchema(c),
		"margin":     fieldSchema(parameter.Field{Kind: parameter.KindShare}),
		"goal":       goalSchema(c),
		"tune":       tuneSchema(c),
		"limits":     limitsSchema(c),
		"published":  publishedSchema(),
		"seed":       schema{"type": "integer", "minimum": 0},
	}
	for _, k := range file.TopKeys {
		describe(properties[k.Name].(schema), k.Doc)
	}
	root := object(properties, "study", "question", "platform")
	root["anyOf"] = []any{schema{"required": []string{"workload"}}, schema{"required": []string{"groups"}}}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "plimsoll study"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode JSON Schema: %w", err)
	}
	return append(text, '\n'), nil
}

func machinesSchema() schema {
	return schema{"type": "integer", "minimum": 1, "maximum": study.MostMachines}
}

func operationsSchema() schema {
	one := object(schema{"group": schema{"type": "string"}, "every": plainSchema(), "reference": schema{"type": "number", "exclusiveMinimum": 0}}, "group")
	all := schema{}
	for _, kind := range study.Operations() {
		all[kind] = one
	}
	return object(all)
}

// groupsSchema leaves open which platform the settings are of.
func groupsSchema(c *study.Catalog) schema {
	group := object(schema{
		"machines": machinesSchema(), "settings": schema{"type": "object"},
		"workload": useSchema(c, "workload"), "service": useSchema(c, "service"),
		"limits":    schema{"type": "object", "minProperties": 1, "additionalProperties": plainSchema()},
		"reference": fieldSchema(parameter.Field{Kind: parameter.KindRate}),
		"elastic": object(schema{
			"servers": schema{"type": "array", "minItems": 2, "items": schema{"type": "integer", "minimum": 1, "maximum": study.MostElastic}}, "every": plainSchema(),
		}, "servers", "every"),
	})
	for _, k := range file.GroupKeys {
		describe(group["properties"].(schema)[k.Name].(schema), k.Doc)
	}
	return schema{"type": "object", "minProperties": 1, "additionalProperties": group}
}

func describe(s schema, doc string) schema {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

// object is a mapping with known keys only.
func object(properties schema, required ...string) schema {
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// useSchema is NAME or {NAME: {settings}}. YAML parses the bare name null as a null, which a
// kind of that name allows.
func useSchema(c *study.Catalog, class string) schema {
	properties, bare := schema{}, []any{}
	for _, u := range c.Kinds(class) {
		bare = append(bare, u.Name)
		if u.Name == "null" {
			bare = append(bare, nil)
		}
		settings := schema{}
		for _, f := range parameter.Fields(u.Defaults) {
			settings[f.Name] = describe(fieldSchema(f), fieldDoc(f))
		}
		s := object(settings)
		s["type"] = []string{"object", "null"}
		properties[u.Name] = describe(s, u.Doc)
	}
	mapping := object(properties)
	mapping["minProperties"], mapping["maxProperties"] = 1, 1
	return schema{"anyOf": []any{schema{"enum": bare}, mapping}}
}

// fieldDoc says what a field means, with its default.
func fieldDoc(f parameter.Field) string {
	switch {
	case f.Default == "" || f.Default == "[]":
		return f.Doc
	case f.Doc == "":
		return "default " + f.Default
	}
	return f.Doc + "; default " + f.Default
}

const (
	decimal  = `[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?`
	duration = `^([0-9]*\.?[0-9]+(ns|us|µs|μs|ms|s|m|h))+$|^0$`
)

// patterns of the quantities, in the notation that package parameter reads.
var patterns = map[parameter.Kind]string{
	parameter.KindBytes:    `^` + decimal + ` *(B|[kKMGT]B|[KMGT]iB)$`,
	parameter.KindShare:    `^` + decimal + ` *%$`,
	parameter.KindRate:     `^` + decimal + ` *(/s|/min|/h)$`,
	parameter.KindDuration: duration,
}

// fieldSchema is the type of a field. Editors parse a text that looks like a number as a
// number, so texts may be numbers too.
func fieldSchema(f parameter.Field) schema {
	if f.Choices != nil {
		return choiceSchema(f.Choices)
	}
	switch f.Kind {
	case parameter.KindInteger, parameter.KindNumber:
		s := schema{"type": string(f.Kind)}
		for keyword, limit := range map[string]string{"minimum": f.Min, "maximum": f.Max} {
			if v, err := strconv.ParseFloat(limit, 64); err == nil {
				s[keyword] = v
			}
		}
		return s
	case parameter.KindSwitch:
		return schema{"type": "boolean"}
	case parameter.KindText:
		return plainSchema()
	case parameter.KindList:
		return schema{"anyOf": []any{plainSchema(), schema{"type": "array", "items": plainSchema()}}}
	}
	types := []string{"string"}
	if f.Kind == parameter.KindDuration {
		return schema{"anyOf": []any{schema{"type": types, "pattern": patterns[f.Kind]}, schema{"const": 0}}}
	}
	return schema{"type": types, "pattern": patterns[f.Kind]}
}

func plainSchema() schema { return schema{"type": []string{"string", "number", "boolean"}} }

// choiceSchema lists texts, and beside them what an editor makes of those that
// look like something else.
func choiceSchema(choices []string) schema {
	all := []any{}
	for _, c := range choices {
		all = append(all, c)
		switch v, err := strconv.ParseFloat(c, 64); {
		case err == nil:
			all = append(all, v)
		case c == "true" || c == "false":
			all = append(all, c == "true")
		case c == "null":
			all = append(all, nil)
		}
	}
	return schema{"enum": all}
}

func levelsSchema(item schema) schema {
	return schema{"type": "array", "items": item, "minItems": 1, "maxItems": study.MostLevels, "uniqueItems": true}
}

func factorsSchema(c *study.Catalog) schema {
	properties, matching := schema{}, schema{}
	for _, k := range slices.Concat(c.Kinds("workload"), c.Kinds("service")) {
		for _, f := range parameter.Fields(k.Defaults) {
			properties[k.Name+"."+f.Name] = describe(levelsSchema(fieldSchema(f)), f.Doc)
		}
	}
	for _, f := range c.Factors {
		s := describe(levelsSchema(plainSchema()), f.Doc)
		if len(f.Example) > 0 {
			s["examples"] = []any{f.Example}
		}
		properties[f.Name] = s
		matching["^"+regexp.QuoteMeta(f.Name)+":.+$"] = s // of a target, or of a group of machines
	}
	properties[study.Label] = describe(levelsSchema(plainSchema()), "changes nothing; its levels are names")
	properties[study.MachinesFactor] = describe(levelsSchema(machinesSchema()), "how many machines there are, or with :GROUP those of a group")
	matching["^"+study.MachinesFactor+":.+$"] = properties[study.MachinesFactor].(schema)
	matching["^"+regexp.QuoteMeta(study.CommandPrefix)+".+$"] = describe(levelsSchema(plainSchema()), "what your own commands set")
	s := object(properties)
	s["type"] = []string{"object", "null"}
	s["patternProperties"] = matching
	return s
}

func commandsSchema() schema {
	properties := schema{}
	for _, k := range file.CommandKeys {
		properties[k.Name] = schema{"type": "string", "description": k.Doc}
	}
	return schema{
		"type": []string{"object", "null"}, "additionalProperties": object(properties, "read", "apply"),
		"propertyNames": schema{"pattern": `^[A-Za-z0-9][A-Za-z0-9._-]*$`},
	}
}

func loadSchema() schema {
	rate := func() schema { return fieldSchema(parameter.Field{Kind: parameter.KindRate}) }
	within := schema{"type": "object", "minProperties": 1, "additionalProperties": plainSchema()}
	units := schema{"type": "integer", "minimum": 1, "maximum": study.MostInstances}
	properties := schema{
		study.RateSetting: rate(), study.ArrivalsSetting: plainSchema(), study.ShapeSetting: plainSchema(), study.TraceSetting: plainSchema(), study.RampSetting: fieldSchema(parameter.Field{Kind: parameter.KindDuration}),
		"peak":   object(schema{"within": within, "from": rate(), "to": rate()}, "within"),
		"growth": object(schema{"unit": plainSchema(), "within": schema{"anyOf": []any{within, schema{"const": "groups"}}}, "from": units, "step": units, "to": units}, "within", "to"),
	}
	for _, k := range file.LoadKeys {
		describe(properties[k.Name].(schema), k.Doc)
	}
	return schema{"anyOf": []any{schema{"const": "closed"}, object(properties), schema{"type": "null"}}}
}

func measureSchema() schema {
	properties := schema{}
	for _, f := range parameter.Fields(timing.Default()) {
		properties[f.Name] = describe(fieldSchema(f), fieldDoc(f))
	}
	for name, other := range map[string]schema{
		"warmup": {"type": "string", "pattern": duration},
		"blocks": {"type": "integer", "minimum": 1, "maximum": timing.MostBlocks},
	} {
		properties[name] = schema{"anyOf": []any{schema{"const": timing.Auto}, other}, "description": properties[name].(schema)["description"]}
	}
	looks := schema{"type": "integer", "minimum": 2, "maximum": timing.MostBlocks}
	properties["looks"] = schema{
		"type": "array", "items": looks, "minItems": 1, "uniqueItems": true, "description": properties["looks"].(schema)["description"],
	}
	energy := schema{}
	for _, f := range parameter.Fields(timing.EnergySource()) {
		energy[f.Name] = describe(fieldSchema(f), fieldDoc(f))
	}
	source := object(energy)
	source["oneOf"] = []any{schema{"required": []string{"file"}}, schema{"required": []string{"command"}}}
	properties[timing.Energy] = describe(source, timing.EnergyDoc)
	s := object(properties)
	s["type"] = []string{"object", "null"}
	return s
}

// metrics returns the metrics of all workloads, those of a search, those of several
// machines or servers and those of energy, each name once.
func metrics(c *study.Catalog) []measure.Metric {
	out := append([]measure.Metric{measure.PeakMetric(), measure.GrowthMetric(), measure.TilesMetric()}, measure.SharingMetrics("machine")...)
	out = append(append(out, measure.OverallMetrics()...), measure.OperationsMetric(study.Restart))
	out = append(out, slices.DeleteFunc(measure.TileMetrics(true), func(m measure.Metric) bool { return m.Name == measure.Fairness })...)
	out = append(out, measure.EnergyMetrics(false)...)
	seen := map[string]bool{}
	for _, m := range out {
		seen[m.Name] = true
	}
	for _, k := range c.Workloads {
		for _, m := range k.Metrics {
			if !seen[m.Name] {
				seen[m.Name] = true
				out = append(out, m)
			}
		}
	}
	return out
}

func metricName(c *study.Catalog) schema {
	list, names := []any{}, []string{}
	for _, m := range metrics(c) {
		list, names = append(list, m.Name), append(names, regexp.QuoteMeta(m.Name))
	}
	ofGroups := `^[A-Za-z0-9][A-Za-z0-9_-]*\.(` + strings.Join(names, "|") + ")$" // of one group, or of all together
	return schema{"anyOf": []any{schema{"enum": list}, schema{"type": "string", "pattern": ofGroups}}}
}

func headlineSchema(c *study.Catalog) schema {
	one := schema{"anyOf": []any{metricName(c), schema{"const": measure.CPUPerOperation().Name}}}
	return schema{"anyOf": []any{one, schema{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
}

// amountSchema is a value of a metric, in the notation of its unit.
func amountSchema(m measure.Metric) schema {
	kind, ok := map[string]parameter.Kind{"s": parameter.KindDuration, "B": parameter.KindBytes, "1/s": parameter.KindRate}[m.Unit]
	switch {
	case ok:
		return fieldSchema(parameter.Field{Kind: kind})
	case m.Unit == "B/s":
		return schema{"type": "string", "pattern": strings.TrimSuffix(patterns[parameter.KindBytes], "$") + "/s$"}
	}
	return numberSchema()
}

func numberSchema() schema {
	return schema{"anyOf": []any{schema{"type": "number"}, schema{"type": "string", "pattern": `^[-+]?` + decimal + ` *%?$`}}}
}

func goalSchema(c *study.Catalog) schema {
	floor := schema{}
	for _, m := range metrics(c) {
		floor[m.Name] = describe(amountSchema(m), m.Doc)
	}
	s := object(schema{"most": metricName(c), "least": metricName(c), "floor": object(floor)})
	s["oneOf"] = []any{schema{"required": []string{"most"}}, schema{"required": []string{"least"}}}
	return s
}

func tuneSchema(c *study.Catalog) schema {
	properties := schema{timing.Candidates: describe(factorsSchema(c), timing.CandidatesDoc)}
	for _, f := range parameter.Fields(timing.Tuning()) {
		properties[f.Name] = describe(fieldSchema(f), fieldDoc(f))
	}
	s := object(properties)
	s["type"] = []string{"object", "null"}
	return s
}

func limitsSchema(c *study.Catalog) schema {
	properties := schema{}
	for _, m := range metrics(c) {
		bounds := object(schema{"min": amountSchema(m), "max": amountSchema(m)})
		bounds["minProperties"] = 1
		properties[m.Name] = describe(bounds, m.Doc)
	}
	s := object(properties)
	s["type"] = []string{"object", "null"}
	return s
}

func publishedSchema() schema {
	properties := schema{
		"metric": schema{"type": "string"}, "unit": plainSchema(), "note": schema{"type": "string"}, "change": numberSchema(),
		"values": schema{"type": "object", "additionalProperties": numberSchema()},
	}
	for _, k := range file.PublishedKeys {
		describe(properties[k.Name].(schema), k.Doc)
	}
	return schema{"type": []string{"array", "null"}, "items": object(properties, "metric", "note")}
}
