package sample

import (
	"fmt"

	"github.com/nuon-toolkit/nuon/diff"
)

var absent = diff.ShownValue{Absent: true}

func text(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeString} }

func number(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeNumber} }

func listOf(s string) diff.ShownValue { return diff.ShownValue{Text: s, Type: diff.TypeList} }

// Object returns a change of a Kubernetes object.
func Object(namespace, kind, name string, a diff.Action, fields ...diff.FieldChange) diff.Change {
	address := kind + "/" + name
	if namespace != "" {
		address = namespace + "/" + address
	}
	return diff.Change{Address: address, Namespace: namespace, ResourceKind: kind, Name: name, Action: a, Risk: a.Risk(),
		Fields: fields}
}

func judged(c diff.Change, findings ...diff.Finding) diff.Change {
	c.AddFindings(findings...)
	return c
}

// Release returns a report of Kubernetes manifests with an example of everything.
func Release() *diff.Report {
	const docs = "https://kubernetes.io/docs/"
	r := &diff.Report{Kind: diff.KindKubernetes, Applyable: true,
		Notes: []string{"wanted.yaml: ConfigMap/flags: on is a boolean in YAML 1.1, and a text here"}}
	web := judged(Object("shop", "Deployment.apps", "web", diff.Update,
		diff.FieldChange{Path: `metadata.labels["helm.sh/chart"]`, Before: text("web-1.4.0"), After: text("web-1.5.0"),
			Fold: "chart label"},
		diff.FieldChange{Path: "spec.replicas", Before: number("2"), After: number("3"), Owner: "horizontal-pod-autoscaler"},
		diff.FieldChange{Path: "spec.template.spec.containers[web].env[NEW_VAR]", Before: absent,
			After: diff.ShownValue{Text: `{"name":"NEW_VAR","value":"1"}`, Type: diff.TypeObject}},
		diff.FieldChange{Path: "spec.template.spec.containers[web].image",
			Before: text("registry.example.com/shop/web:1.4.0"), After: text("registry.example.com/shop/web:1.5.0")},
		diff.FieldChange{Path: "spec.template.spec.initContainers", Before: listOf(`["wait","migrate","warm"]`),
			After: listOf(`["migrate","wait","warm"]`), Reordered: true,
			Moved: []diff.ElementMove{{Name: "migrate", From: 1, To: 0}}},
	), diff.Finding{Rule: "pod-template", Source: docs, Risk: diff.RiskRestart,
		Message: "the pod template changes, so every pod is replaced", Path: "spec.template"})
	config := Object("shop", "ConfigMap", "settings", diff.Update,
		diff.FieldChange{Path: `data["app.json"] (json) server.port`, Before: number("80"), After: number("8080")},
		diff.FieldChange{Path: `data["start.sh"]`, Lines: []diff.Line{
			{Op: diff.LineSkipped, Count: 4}, {Op: diff.LineSame, Text: "set -eu"},
			{Op: diff.LineRemoved, Text: "exec serve --port 80"},
			{Op: diff.LineRemoved, Text: "echo never"}, {Op: diff.LineAdded, Text: "exec serve --port 8080"},
			{Op: diff.LineSame, Text: "# 終わり"},
		}})
	secret := Object("shop", "Secret", "keys", diff.Update,
		diff.FieldChange{Path: "data.token", Before: diff.ShownValue{Masked: true, Tag: "a1b2c3"},
			After: diff.ShownValue{Masked: true, Tag: "d4e5f6", Mark: diff.MarkChanged}, Regenerated: true})
	role := judged(Object("", "ClusterRole.rbac.authorization.k8s.io", "web", diff.Update,
		diff.FieldChange{Path: "rules[0].verbs[list]", Before: absent, After: text("list")}),
		diff.Finding{Rule: "rbac-widens", Source: docs, Risk: diff.RiskInPlace, Security: true,
			Message: "the role allows more than before: list of secrets", Path: "rules[0].verbs"})
	job := Object("shop", "Job.batch", "migrate-v2", diff.Replace,
		diff.FieldChange{Path: "spec.template.spec.containers[migrate].image", Before: text("web:1.4.0"),
			After: text("web:1.5.0"), ForcesReplace: true})
	job.From, job.Renamed = "shop/Job.batch/migrate-v1", true
	claim := judged(Object("shop", "PersistentVolumeClaim", "uploads", diff.Destroy,
		diff.FieldChange{Path: "spec.storage", Before: text("10Gi"), After: absent}),
		diff.Finding{Rule: "claim-removed", Source: docs, Risk: diff.RiskDestroy,
			Message: "the data of the volume goes with it"})
	r.Changes = []diff.Change{web, config, secret, role, job, claim}
	for i := range 12 {
		fields := []diff.FieldChange{{Path: `metadata.labels["helm.sh/chart"]`, Before: text("web-1.4.0"),
			After: text("web-1.5.0"), Fold: "chart label"}}
		if i%10 == 0 {
			fields = append(fields, diff.FieldChange{Path: `metadata.annotations["checksum/config"]`, Before: text("aa"),
				After: text("bb"), Fold: "checksum"})
		}
		r.Changes = append(r.Changes, Object("shop", "Service", fmt.Sprintf("s%02d", i), diff.Update, fields...))
	}
	hook := Object("shop", "Job.batch", "backup", diff.Create, diff.FieldChange{Path: "spec.backoffLimit", Before: absent,
		After: number("1")})
	hook.Hook = "pre-upgrade"
	r.Hooks = []diff.Change{hook}
	r.Tests = []diff.Change{Object("shop", "Pod", "smoke", diff.Update,
		diff.FieldChange{Path: "spec.containers[smoke].image", Before: text("smoke:1"), After: text("smoke:2")})}
	r.Kept = []diff.Change{Object("shop", "Secret", "licence", diff.Forget,
		diff.FieldChange{Path: "type", Before: text("Opaque"), After: absent})}
	r.Drift = []diff.Change{Object("shop", "Deployment.apps", "web", diff.Update,
		diff.FieldChange{Path: "spec.paused", Before: absent, After: diff.ShownValue{Text: "true", Type: diff.TypeBool},
			Owner: "kubectl-edit"})}
	r.AddFold("chart label", diff.FoldFields, 13)
	r.AddFold("checksum", diff.FoldFields, 2)
	r.AddFold(diff.FoldUnchanged, diff.FoldObjects, 12)
	r.Sort()
	r.Totals = r.Count()
	return r
}
