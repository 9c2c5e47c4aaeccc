package attacks

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/diff/terraform"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// growths are inputs of any size. Each returns one or more objects with n parts that differ between
// two versions.
var growths = map[string]func(n, version int) []any{
	"subjects of a binding": func(n, version int) []any {
		return []any{object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "roleRef",
			fields("kind", "ClusterRole", "name", "admin"),
			"subjects", repeat(n, func(i int) any {
				return fields("kind", "User", "name",
					fmt.Sprint("user-", version, "-", i))
			}))}
	},
	"rules of a role": func(n, version int) []any {
		return []any{object("rbac.authorization.k8s.io/v1", "ClusterRole", "rules", repeat(n, func(i int) any {
			return fields("apiGroups", []any{""}, "resources", []any{fmt.Sprint("things-", i)}, "verbs",
				[]any{fmt.Sprint("do-", version)})
		}))}
	},
	"verbs of a role": func(n, version int) []any {
		return []any{object("rbac.authorization.k8s.io/v1", "Role", "rules",
			[]any{fields("apiGroups", []any{""}, "resources", []any{"pods"},
				"verbs", repeat(n, func(i int) any { return fmt.Sprint("do-", version, "-", i) }))})}
	},
	"networks of a policy": func(n, version int) []any {
		return []any{object("networking.k8s.io/v1", "NetworkPolicy", "spec", fields("podSelector", fields(), "ingress",
			[]any{fields("from", repeat(n, func(i int) any {
				network := fmt.Sprintf("10.%d.%d.", i/256, i%256)
				return fields("ipBlock", fields("cidr", network+"0/24", "except", []any{network + fmt.Sprint(version, "/32")}))
			}))}))}
	},
	"rules of a policy": func(n, version int) []any {
		return []any{object("networking.k8s.io/v1", "NetworkPolicy", "spec", fields("podSelector", fields(), "ingress",
			repeat(n, func(i int) any { return fields("ports", []any{fields("port", 2*i+version)}) })))}
	},
	"keys of a ConfigMap": func(n, version int) []any {
		return []any{object("v1", "ConfigMap", "data", keyed(n, func(i int) any { return fmt.Sprint("value ", version, i) }))}
	},
	"lines of a ConfigMap": func(n, version int) []any {
		var b strings.Builder
		for i := range 10 * n {
			fmt.Fprintln(&b, "line", i, version*(i%3))
		}
		return []any{object("v1", "ConfigMap", "data", fields("text", b.String()))}
	},
	"document in a ConfigMap": func(n, version int) []any {
		doc, _ := json.Marshal(fields("list", repeat(
			n, func(i int) any { return fields("a", fmt.Sprint(version, "x", i), "b", i) })))
		return []any{object("v1", "ConfigMap", "data", fields("doc.json", string(doc)))}
	},
	"keys of a Secret": func(n, version int) []any {
		return []any{object("v1", "Secret", "stringData",
			keyed(n, func(i int) any { return fmt.Sprint("s3cr3t-", version, "-", i*7919) }))}
	},
	"copies of a Secret": func(n, version int) []any {
		secret := func(i int) any { return fmt.Sprint("s3cr3t-", version, "-", i*7919) }
		return []any{object("v1", "Secret", "stringData", keyed(n, secret)),
			object("v1", "ConfigMap", "data", keyed(n, secret))}
	},
	"variables of a container": func(n, version int) []any {
		return []any{deployment(fields("containers", []any{fields("name", "c", "image", "i:1",
			"env", repeat(n, func(i int) any {
				return fields("name", fmt.Sprint("V", i), "value",
					fmt.Sprint("v", version, i))
			}))}))}
	},
	"containers": func(n, version int) []any {
		return []any{deployment(fields("containers", repeat(n, func(i int) any {
			return fields("name", fmt.Sprint("c", i), "image", fmt.Sprint("example.com/i:", version), "securityContext",
				fields("privileged", i%2 == version%2))
		})))}
	},
	"renamed containers": func(n, version int) []any {
		return []any{deployment(fields("containers", repeat(n, func(i int) any {
			return fields("name", fmt.Sprint("c", version, "-", i), "image", fmt.Sprint("example.com/i:", version))
		})))}
	},
	"volumes": func(n, version int) []any {
		return []any{deployment(fields("containers", []any{fields("name", "c", "image", "i:1",
			"volumeMounts", repeat(n, func(i int) any {
				return fields("name", fmt.Sprint("v", i), "mountPath", fmt.Sprint("/m", i), "readOnly", version == 1)
			}))},
			"volumes", repeat(n, func(i int) any {
				return fields("name", fmt.Sprint("v", i), "hostPath", fields("path", fmt.Sprint("/p", version, i)))
			})))}
	},
	"arguments": func(n, version int) []any {
		return []any{deployment(fields("containers", []any{fields("name", "c", "image", "i:1",
			"args", repeat(n, func(i int) any { return fmt.Sprint("--flag-", i, "=", version) }))}))}
	},
	"annotations": func(n, version int) []any {
		o := object("v1", "Service", "spec", fields())
		o["metadata"].(map[string]any)["annotations"] = keyed(n, func(i int) any { return fmt.Sprint(version, "-", i) })
		return []any{o}
	},
	"labels": func(n, version int) []any {
		o := object("v1", "Service", "spec", fields())
		o["metadata"].(map[string]any)["labels"] = keyed(n, func(i int) any { return fmt.Sprint(version, "-", i) })
		return []any{o}
	},
	"finalizers": func(n, version int) []any {
		o := object("v1", "Service", "spec", fields())
		o["metadata"].(map[string]any)["finalizers"] = repeat(n,
			func(i int) any { return fmt.Sprint("example.com/", version, "-", i) })
		return []any{o}
	},
	"ports of a Service": func(n, version int) []any {
		return []any{object("v1", "Service", "spec", fields("selector", fields("a", "b"),
			"ports", repeat(n, func(i int) any {
				return fields("name", fmt.Sprint("p", i), "port", 1000+i, "targetPort", version*3000+i)
			})))}
	},
	"hosts of an Ingress": func(n, version int) []any {
		return []any{object("networking.k8s.io/v1", "Ingress", "spec", fields("rules", repeat(n, func(i int) any {
			backend := fields("service", fields("name", "web", "port", fields("number", 80)))
			return fields("host", fmt.Sprintf("h%d-%d.example.com", version, i), "http",
				fields("paths", []any{fields("path", "/", "pathType", "Prefix", "backend", backend)}))
		})))}
	},
	"addresses of an endpoint": func(n, version int) []any {
		return []any{object("v1", "Endpoints", "subsets", []any{fields("ports", []any{fields("port", 80)},
			"addresses", repeat(n, func(i int) any {
				return fields("ip", fmt.Sprintf("10.%d.%d.%d", version, i/256,
					i%256))
			}))})}
	},
	"webhooks": func(n, version int) []any {
		return []any{object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "webhooks",
			repeat(n, func(i int) any {
				return fields("name", fmt.Sprintf("w%d.example.com", i), "failurePolicy", []any{"Fail", "Ignore", "Fail"}[version],
					"clientConfig", fields("url", "https://a"))
			}))}
	},
	"renamed webhooks": func(n, version int) []any {
		return []any{object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "webhooks",
			repeat(n, func(i int) any {
				return fields("name", fmt.Sprintf("w%d-%d.example.com", version, i), "clientConfig", fields("url", "https://a"))
			}))}
	},
	"fields of a definition": func(n, version int) []any {
		return []any{definition(1, func(int) any {
			return fields("type", "object", "required", repeat(n, func(i int) any { return fmt.Sprint("k", i) })[:n*version/2],
				"properties", keyed(n, func(i int) any {
					return fields("type", []any{"string", "string",
						"integer"}[version*(i%2)])
				}))
		})}
	},
	"versions of a definition": func(n, version int) []any {
		return []any{definition(n, func(i int) any {
			return fields("type", "object", "required", []any{fmt.Sprint("k", version)}, "properties",
				fields("a", fields("type", "string")))
		})}
	},
	"fields of a custom resource": func(n, version int) []any {
		return []any{object("example.com/v1", "Thing", "spec",
			keyed(n, func(i int) any { return fmt.Sprint(version, "-", i) }))}
	},
	"nameless elements": func(n, version int) []any {
		return []any{object("example.com/v1", "Thing", "spec", fields("list", repeat(n, func(i int) any {
			return fields("a", i, "b", fields("c", fmt.Sprint(version, "-", i)))
		})))}
	},
	"other elements": func(n, version int) []any {
		return []any{object("example.com/v1", "Thing", "spec",
			fields("list", repeat(n, func(i int) any { return fmt.Sprint(version, "-", i*7919%n) })))}
	},
	"reversed elements": func(n, version int) []any {
		return []any{object("example.com/v1", "Thing", "spec", fields("list", repeat(n, func(i int) any {
			if version == 2 {
				i = n - i
			}
			return fields("name", fmt.Sprint("e", i), "v", i)
		})))}
	},
	"templates of a custom resource": func(n, version int) []any {
		return []any{object("example.com/v1", "Thing", "spec", fields("list", repeat(n, func(i int) any {
			return fields("name", fmt.Sprint("t", i), "template",
				fields("spec", fields("hostNetwork", version == 2, "containers",
					[]any{fields("name", "c", "image", fmt.Sprint("i:", version))})))
		})))}
	},
	"objects in an object": func(n, version int) []any {
		return []any{object("work.open-cluster-management.io/v1", "ManifestWork", "spec",
			fields("workload", fields("manifests", repeat(n, func(i int) any {
				o := object("v1", "ConfigMap", "data", fields("k", fmt.Sprint(version)))
				o["metadata"] = fields("name", fmt.Sprint("c", i))
				return o
			}))))}
	},
	"rules of a mesh": func(n, version int) []any {
		return []any{object("security.istio.io/v1", "AuthorizationPolicy", "spec", fields("rules", repeat(n, func(i int) any {
			return fields("from", []any{fields("source", fields("principals", []any{fmt.Sprint("p", version, i)}))})
		})))}
	},
	"rules of Kyverno": func(n, version int) []any {
		return []any{object("kyverno.io/v1", "ClusterPolicy", "spec", fields("rules", repeat(n, func(i int) any {
			return fields("name", fmt.Sprint("r", i), "validate",
				fields("failureAction", "Audit", "message", fmt.Sprint(version)))
		})))}
	},
	"rules of Cilium": func(n, version int) []any {
		return []any{object("cilium.io/v2", "CiliumNetworkPolicy", "spec", fields("ingress", repeat(n, func(i int) any {
			return fields("fromCIDR", []any{fmt.Sprintf("10.%d.%d.%d/32", version, i/256, i%256)})
		})))}
	},
	"mapped roles of AWS": func(n, version int) []any {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- rolearn: arn:aws:iam::111122223333:role/r%d\n  username: u%d\n  groups: [g%d]\n", i, i, version)
		}
		o := object("v1", "ConfigMap", "data", fields("mapRoles", b.String()))
		o["metadata"] = fields("name", "aws-auth", "namespace", "kube-system")
		return []any{o}
	},
	"limits of a quota": func(n, version int) []any {
		return []any{object("v1", "ResourceQuota", "spec", fields("hard", keyed(n, func(i int) any { return version * 10 })))}
	},
	"changed objects": func(n, version int) []any {
		return objects(n, func(i int) map[string]any {
			return object("v1", "ConfigMap", "data",
				fields("k", fmt.Sprint(version)))
		})
	},
	"new objects": func(n, version int) []any {
		return objects((version-1)*n,
			func(i int) map[string]any { return object("v1", "ConfigMap", "data", fields("k", fmt.Sprint(i))) })
	},
	"renamed objects": func(n, version int) []any {
		// More objects than this are not paired, and print as others do.
		out := objects(4*n, func(i int) map[string]any {
			return object("v1", "ConfigMap", "data", fields("k", fmt.Sprint("v", i), "l", fmt.Sprint("w", i)))
		})
		for i, o := range out {
			o.(map[string]any)["metadata"] = fields("name", fmt.Sprintf("config-%d-%d", i, version))
		}
		return out
	},
	"objects of a broken reference": func(n, version int) []any {
		out := objects(n, func(i int) map[string]any {
			return deployment(fields("serviceAccountName", "a", "containers",
				[]any{fields("name", "c", "image", fmt.Sprint("i:", version),
					"envFrom", []any{fields("configMapRef", fields("name", fmt.Sprint("c", i)))})}))
		})
		return append(out, objects(
			(2-version)*n, func(i int) map[string]any { return object("v1", "ConfigMap", "data", fields()) })...)
	},
	"services and their pods": func(n, version int) []any {
		out := objects(n, func(i int) map[string]any {
			return object("v1", "Service", "spec", fields("selector", fields("app", fmt.Sprint(i, version))))
		})
		for i := range n {
			d := deployment(fields("containers", []any{fields("name", "c", "image", "i:1")}))
			d["metadata"] = fields("name", fmt.Sprint("d", i))
			d["spec"].(map[string]any)["template"].(map[string]any)["metadata"] = fields("labels",
				fields("app", fmt.Sprint(i, 1)))
			out = append(out, d)
		}
		return out
	},
}

// plans are similar inputs for Terraform. Each returns the resource changes of a plan.
var plans = map[string]func(n int) []any{
	"resources": func(n int) []any {
		return repeat(n, func(i int) any {
			return resource(i, "aws_instance", fields("ami", "a", "tags", fields("x", "1")),
				fields("ami", "b", "tags", fields("x", "2")))
		})
	},
	"tags": func(n int) []any {
		tags := func(version int) any {
			all := keyed(n, func(i int) any { return fmt.Sprint(version, "-", i) })
			return fields("tags", all, "tags_all", all)
		}
		return []any{resource(0, "aws_instance", tags(1), tags(2))}
	},
	"attributes that force a replacement": func(n int) []any {
		all := func(version int) any {
			return fields("keepers", keyed(10*n, func(i int) any { return fmt.Sprint(version, "-", i) }))
		}
		r := resource(0, "random_id", all(1), all(2))
		change := r["change"].(map[string]any)
		change["actions"] = []any{"delete", "create"}
		change["replace_paths"] = repeat(10*n, func(i int) any { return []any{"keepers", fmt.Sprint("key-", i)} })
		return []any{r}
	},
	"rules of a security group": func(n int) []any {
		rules := func(version int) any {
			return fields("ingress", repeat(n, func(i int) any {
				return fields("from_port", 2*i+version, "to_port", 2*i+version, "protocol", "tcp", "cidr_blocks",
					[]any{"0.0.0.0/0"})
			}))
		}
		return []any{resource(0, "aws_security_group", rules(0), rules(1))}
	},
	"networks of a security group": func(n int) []any {
		rules := func(version int) any {
			return fields("ingress",
				[]any{fields("from_port", 1, "to_port", 1, "protocol", "tcp", "cidr_blocks", repeat(n, func(i int) any {
					return fmt.Sprintf("10.%d.%d.%d/32", version, i/256, i%256)
				}))})
		}
		return []any{resource(0, "aws_security_group", rules(0), rules(1))}
	},
	"statements of a policy": func(n int) []any {
		policy := func(version int) any {
			doc, _ := json.Marshal(fields("Version", "2012-10-17", "Statement", repeat(n, func(i int) any {
				return fields("Effect", "Allow", "Action", []any{fmt.Sprint("s3:Get", version, i)}, "Resource",
					fmt.Sprint("arn:aws:s3:::b", i))
			})))
			return fields("policy", string(doc))
		}
		return []any{resource(0, "aws_iam_policy", policy(1), policy(2))}
	},
	"inline policies": func(n int) []any {
		policies := func(version int) any {
			return fields("inline_policy", repeat(n, func(i int) any {
				return fields("name", fmt.Sprint("p", i), "policy",
					fmt.Sprintf(`{"Statement":[{"Effect":"Allow","Action":"s3:%d","Resource":"*"}]}`, version))
			}))
		}
		return []any{resource(0, "aws_iam_role", policies(1), policies(2))}
	},
	"members": func(n int) []any {
		members := func(version int) any {
			return fields("role", "roles/editor", "members",
				repeat(n, func(i int) any { return fmt.Sprintf("user:u%d-%d@example.com", version, i) }))
		}
		return []any{resource(0, "google_project_iam_binding", members(1), members(2))}
	},
	"actions of a role": func(n int) []any {
		role := func(version int) any {
			return fields("assignable_scopes", []any{"/"}, "permissions", []any{fields(
				"actions", repeat(n, func(i int) any { return fmt.Sprint("Microsoft.X/a", version, i) }),
				"not_actions", repeat(n, func(i int) any { return fmt.Sprint("Microsoft.X/n", version, i) }))})
		}
		return []any{resource(0, "azurerm_role_definition", role(1), role(2))}
	},
	"blocks": func(n int) []any {
		blocks := func(version int) any {
			return fields("ebs_block_device", repeat(n, func(i int) any {
				return fields("device_name", fmt.Sprint("d", i), "encrypted", version == 1, "kms_key_id", fmt.Sprint(version))
			}))
		}
		return []any{resource(0, "aws_instance", blocks(1), blocks(2))}
	},
	"settings of a release": func(n int) []any {
		release := func(version int) any {
			return fields("values", []any{"a: b"}, "set",
				repeat(n, func(i int) any { return fields("name", fmt.Sprint("n", i), "value", fmt.Sprint(version)) }))
		}
		return []any{resource(0, "helm_release", release(1), release(2))}
	},
	"lines of a script": func(n int) []any {
		script := func(version int) any {
			var b strings.Builder
			for i := range 10 * n {
				fmt.Fprintln(&b, "line", i, version*(i%3))
			}
			return fields("user_data", b.String())
		}
		return []any{resource(0, "aws_instance", script(1), script(2))}
	},
	"secrets": func(n int) []any {
		secret := func(version int) any {
			return fields("list", repeat(n, func(i int) any { return fmt.Sprint("s3cr3t-", version, "-", i*7919) }))
		}
		r := resource(0, "example_thing", secret(1), secret(2))
		change := r["change"].(map[string]any)
		change["before_sensitive"], change["after_sensitive"] = fields("list", true), fields("list", true)
		return []any{r, resource(1, "example_other", secret(1), secret(2))}
	},
	"manifest": func(n int) []any {
		config := func(version int) any {
			return fields("manifest", object(
				"v1", "ConfigMap", "data", keyed(n, func(i int) any { return fmt.Sprint(version, i) })))
		}
		return []any{resource(0, "kubernetes_manifest", config(1), config(2))}
	},
	"subjects": func(n int) []any {
		binding := func(version int) any {
			return fields("metadata", []any{fields("name", "x")}, "subject",
				repeat(n, func(i int) any { return fields("kind", "User", "name", fmt.Sprint(version, i)) }))
		}
		return []any{resource(0, "kubernetes_cluster_role_binding", binding(1), binding(2))}
	},
	"unknown": func(n int) []any {
		r := resource(0, "aws_instance", fields("list", repeat(n, func(i int) any { return i })),
			fields("list", repeat(n, func(i int) any { return nil })))
		r["change"].(map[string]any)["after_unknown"] = fields("list", repeat(n, func(i int) any { return true }))
		return []any{r}
	},
	"replaced resources": func(n int) []any {
		return repeat(n, func(i int) any {
			r := resource(i, "aws_db_instance", fields("name", "a"), fields("name", "b"))
			r["change"].(map[string]any)["actions"] = []any{"delete", "create"}
			r["change"].(map[string]any)["replace_paths"] = []any{[]any{"name"}}
			return r
		})
	},
}

func fields(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func repeat(n int, part func(i int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = part(i)
	}
	return out
}

func keyed(n int, part func(i int) any) map[string]any {
	out := make(map[string]any, n)
	for i := range n {
		out[fmt.Sprint("key-", i)] = part(i)
	}
	return out
}

func object(apiVersion, kind string, pairs ...any) map[string]any {
	out := fields(pairs...)
	out["apiVersion"], out["kind"], out["metadata"] = apiVersion, kind, fields("name", "x")
	return out
}

func objects(n int, make func(i int) map[string]any) []any {
	return repeat(n, func(i int) any {
		o := make(i)
		o["metadata"] = fields("name", fmt.Sprint("c", i))
		return o
	})
}

func deployment(spec map[string]any) map[string]any {
	return object("apps/v1", "Deployment", "spec",
		fields("selector", fields(), "template", fields("metadata", fields(), "spec", spec)))
}

func definition(versions int, schema func(i int) any) any {
	o := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "spec",
		fields("group", "example.com", "names", fields("kind", "Thing", "plural", "things"),
			"versions", repeat(versions, func(i int) any {
				return fields("name", fmt.Sprint("v", i+1), "served", true, "storage", i == 0, "schema",
					fields("openAPIV3Schema", schema(i)))
			})))
	o["metadata"] = fields("name", "things.example.com")
	return o
}

func resource(i int, kind string, before, after any) map[string]any {
	return fields("address", fmt.Sprint(kind, ".r", i), "mode", "managed", "type", kind, "name", fmt.Sprint("r", i),
		"provider_name", "registry.terraform.io/hashicorp/aws", "change", fields("actions", []any{"update"}, "before", before,
			"after", after,
			"after_unknown", fields(), "before_sensitive", fields(), "after_sensitive", fields()))
}

// live lists the growths that are also compared with live objects, with twice as many parts, all
// owned by a manager.
var live = map[string]func(n int) map[string]any{
	"variables of a container": func(n int) map[string]any {
		return below([]string{"spec", "template", "spec", "containers", `{"name":"c"}`, "env"}, elements(n, "V", "value"))
	},
	"containers": func(n int) map[string]any {
		return below([]string{"spec", "template", "spec", "containers"}, elements(n, "c", "image"))
	},
	"keys of a ConfigMap": func(n int) map[string]any {
		owned := map[string]any{}
		for k := range keyed(n, func(int) any { return nil }) {
			owned["f:"+k] = map[string]any{}
		}
		return below([]string{"data"}, owned)
	},
	"finalizers": func(n int) map[string]any {
		owned := map[string]any{}
		for i := range n {
			owned[fmt.Sprintf(`v:"example.com/1-%d"`, i)] = map[string]any{}
		}
		return below([]string{"metadata", "finalizers"}, owned)
	},
}

// below returns the managed fields at a path, where a list element is written as its keys.
func below(path []string, owned map[string]any) map[string]any {
	for i := len(path) - 1; i >= 0; i-- {
		key := "f:" + path[i]
		if strings.HasPrefix(path[i], "{") {
			key = "k:" + path[i]
		}
		owned = map[string]any{key: owned}
	}
	return owned
}

// elements returns managed fields for the elements of a list by name, with one field each.
func elements(n int, name, field string) map[string]any {
	owned := map[string]any{}
	for i := range n {
		owned[fmt.Sprintf(`k:{"name":"%s%d"}`, name, i)] = map[string]any{"f:" + field: map[string]any{}}
	}
	return owned
}

// managed returns the objects with managed fields.
func managed(objects []any, owned map[string]any) []any {
	for _, o := range objects {
		metadata := o.(map[string]any)["metadata"].(map[string]any)
		metadata["managedFields"] = []any{fields("manager", "edit", "operation", "Update", "apiVersion", "v1", "fieldsType",
			"FieldsV1", "fieldsV1", owned)}
	}
	return objects
}

// TestGrowth checks that four times the input needs hardly more than four times the work, from
// reading to each format.
func TestGrowth(t *testing.T) {
	const n = 40
	for name, make := range growths {
		t.Run(name, func(t *testing.T) {
			checkGrowth(t, n, func(n int) func() *diff.Report {
				before, after := documents(t, make(n, 1)), documents(t, make(n, 2))
				return func() *diff.Report {
					r, err := kubernetes.Report(before, after, kubernetes.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
			})
		})
	}
	for name, make := range live {
		t.Run("live/"+name, func(t *testing.T) {
			checkGrowth(t, 10*n, func(n int) func() *diff.Report {
				before, after := documents(t, growths[name](n, 1)), documents(t, growths[name](n, 2))
				runs := documents(t, managed(growths[name](2*n, 1), make(2*n)))
				return func() *diff.Report {
					r, err := kubernetes.Report(before, after, kubernetes.Options{ThreeWay: true, Live: runs})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
			})
		})
	}
	// A chart that generates all values of an object again on each rendering.
	t.Run("values rendered again", func(t *testing.T) {
		checkGrowth(t, 50*n, func(n int) func() *diff.Report {
			before, after, again := renderedAgain(t, n, 1), renderedAgain(t, n, 2), renderedAgain(t, n, 3)
			return func() *diff.Report {
				r, err := kubernetes.Report(before, after, kubernetes.Options{Again: again, BeforeAgain: again})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
		})
	})
	for name, make := range plans {
		// Lists of fewer elements are aligned by a bounded search, whose cost grows faster until it ends.
		t.Run("plan/"+name, func(t *testing.T) {
			checkGrowth(t, 10*n, func(n int) func() *diff.Report {
				plan, err := json.Marshal(fields("format_version", "1.2", "terraform_version", "1.11.4",
					"resource_changes", make(n)))
				if err != nil {
					t.Fatal(err)
				}
				return func() *diff.Report {
					r, err := terraform.Report(bytes.NewReader(plan), terraform.Options{})
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
			})
		})
	}
}

// renderedAgain returns one object, all of whose values differ between versions.
func renderedAgain(t *testing.T, n, version int) []manifest.Source {
	return documents(t, []any{object("v1", "ConfigMap", "data", keyed(n, func(i int) any {
		sum := sha256.Sum256(fmt.Append(nil, version, i))
		return base64.StdEncoding.EncodeToString(sum[:])
	}))})
}

func checkGrowth(t *testing.T, n int, input func(n int) func() *diff.Report) {
	t.Helper()
	small, large := input(n), input(4*n)
	few, many := small(), large()
	// A quadratic cost would be sixteen times as high.
	testtime.CheckGrowth(t, 9, "comparing four times as much", func() { small() }, func() { large() })
	testtime.CheckGrowth(t, 9, "rendering four times as much", func() { renderAll(t, few) }, func() { renderAll(t, many) })
}

func renderAll(t *testing.T, r *diff.Report) {
	for _, o := range []terminal.Options{{}, {All: true}, {All: true, Side: true, Width: 120}} {
		if err := terminal.Render(io.Discard, r, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(markdown.Render(io.Discard, r, markdown.Options{}), json.NewEncoder(io.Discard).Encode(r),
		r.Validate()); err != nil {
		t.Fatal(err)
	}
	_ = r.Digest()
}

func documents(t *testing.T, list []any) []manifest.Source {
	var b bytes.Buffer
	for _, o := range list {
		doc, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "---\n%s\n", doc)
	}
	return []manifest.Source{{Name: "x.yaml", Data: b.Bytes()}}
}
