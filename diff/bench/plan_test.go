package bench

import (
	"encoding/json"
	"fmt"
)

// plan returns the JSON of a plan of 10,000 resources in modules. One in ten changes: most of those
// in place, some are created, replaced or destroyed. Like a real plan, it includes the prior state
// and the configuration.
func plan() []byte {
	var changes, state []any
	for i := range 10_000 {
		r := resource(i)
		state = append(state, map[string]any{"address": r["address"], "mode": "managed", "type": r["type"],
			"name": r["name"], "values": values(i)})
		changes = append(changes, r)
	}
	data, err := json.Marshal(map[string]any{
		"format_version": "1.2", "terraform_version": "1.12.0", "applyable": true, "complete": true, "errored": false,
		"resource_changes": changes,
		"prior_state": map[string]any{"format_version": "1.0",
			"values": map[string]any{"root_module": map[string]any{"resources": state}}},
		"configuration": map[string]any{"root_module": map[string]any{}},
	})
	if err != nil {
		panic(err)
	}
	return data
}

func resource(i int) map[string]any {
	kind := []string{"aws_instance", "aws_s3_bucket", "aws_iam_policy", "aws_security_group_rule"}[i%4]
	address := fmt.Sprintf("module.part%d.%s.thing[%d]", i%50, kind, i)
	change := map[string]any{"actions": []string{"no-op"}, "before": values(i), "after": values(i),
		"after_unknown":    map[string]any{},
		"before_sensitive": map[string]any{"password": true}, "after_sensitive": map[string]any{"password": true}}
	after := values(i)
	switch {
	case i%10 != 0:
	case i%100 == 10:
		change["actions"], change["before"], change["after_unknown"] = []string{"create"}, nil, map[string]any{"id": true}
	case i%100 == 20:
		change["actions"], change["after"] = []string{"delete"}, nil
	case i%100 == 30:
		after["zone"] = "another"
		change["actions"], change["after"], change["replace_paths"] = []string{"delete", "create"}, after,
			[]any{[]any{"zone"}}
	default:
		after["size"] = i + 1
		after["tags"] = map[string]any{"owner": "them", "cost": "high", "extra": "yes"}
		change["actions"], change["after"] = []string{"update"}, after
	}
	return map[string]any{"address": address, "module_address": fmt.Sprintf("module.part%d", i%50), "mode": "managed",
		"type": kind, "name": "thing", "index": i, "provider_name": "registry.example.com/example/aws", "change": change}
}

func values(i int) map[string]any {
	return map[string]any{"id": fmt.Sprintf("id-%d", i), "size": i, "zone": "one",
		"password": fmt.Sprintf("a password of %d", i), "enabled": true, "tags": map[string]any{"owner": "us", "cost": "low"},
		"rules": []any{map[string]any{"port": 80, "cidr": []any{"10.0.0.0/8"}},
			map[string]any{"port": 443, "cidr": []any{"10.0.0.0/8", "192.168.0.0/16"}}},
		"comment": "some words that are neither short nor long, so that there is something to decode",
		"policy":  `{"Version":"2012-10-17","Statement":[]}`}
}
