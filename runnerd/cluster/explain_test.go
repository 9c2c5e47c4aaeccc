package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func refusal(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message}}
}

func TestExplain(t *testing.T) {
	secrets := schema.GroupKind{Kind: "Secret"}
	conflict := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict,
		Message: "Apply failed", Details: &metav1.StatusDetails{
			Name: "web", Kind: "deployments", Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict,
				Field: ".spec.replicas", Message: `conflict with "hpa" using apps/v1`}},
		}}}
	refused := &url.Error{Op: "Get", URL: "https://1.2.3.4:6443/api?secret=planted",
		Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	tests := map[string]struct {
		err  error
		want []string
	}{
		"forbidden": {
			refusal(403, metav1.StatusReasonForbidden,
				`deployments.apps is forbidden: User "system:serviceaccount:runner:nuon" cannot create resource "deployments" in API group "apps" in the namespace "shop"`),
			[]string{"system:serviceaccount:runner:nuon may not create deployments.apps in the namespace shop",
				"Role or ClusterRole with the verb create on deployments.apps"},
		},
		"forbidden in all": {
			refusal(403, metav1.StatusReasonForbidden,
				`clusterroles.rbac.authorization.k8s.io is forbidden: User "x" cannot list resource "clusterroles" in API group "rbac.authorization.k8s.io" at the cluster scope`),
			[]string{"x may not list clusterroles.rbac.authorization.k8s.io in the whole cluster"},
		},
		"escalation": {
			refusal(403, metav1.StatusReasonForbidden,
				`roles.rbac.authorization.k8s.io "r" is forbidden: user "x" is attempting to grant RBAC permissions not currently held`),
			[]string{"forbids it", "permissions not currently held"},
		},
		"quota": {refusal(403, metav1.StatusReasonForbidden,
			`pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`),
			[]string{"the quota small", "requested: pods=1", "raised"}},
		"webhook": {refusal(400, metav1.StatusReasonBadRequest, "admission webhook \"guard.example.com\" denied the "+
			"request: no \x1b[31mlatest\nplease"), []string{"guard.example.com rejects it", `no \x1b[31mlatest please`}},
		"silent webhook": {refusal(400, "", `admission webhook "g.example" denied the request without explanation`),
			[]string{"g.example rejects it: it does not say why"}},
		"webhook away": {refusal(500, metav1.StatusReasonInternalError,
			`Internal error occurred: failed calling webhook "g.example": failed to call webhook: Post "https://x": dial tcp: refused`), []string{"g.example does not answer the API server"}},
		"pod security": {refusal(403, metav1.StatusReasonForbidden,
			`pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false`),
			[]string{"restricted:latest", "allowPrivilegeEscalation"}},
		"unauthorized": {refusal(401, metav1.StatusReasonUnauthorized, "Unauthorized"),
			[]string{"does not take the runner's credentials"}},
		"fields of others": {conflict, []string{"deployments web", `.spec.replicas ("hpa" using apps/v1)`}},
		"moved": {refusal(409, metav1.StatusReasonConflict, "Operation cannot be fulfilled: the object has "+
			"been modified"), []string{"at the same moment"}},
		"fixed": {apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web",
			field.ErrorList{field.Invalid(field.NewPath("spec", "selector"), map[string]string{"app": "planted"},
				"field is immutable")}), []string{"Deployment web cannot be changed in place", "spec.selector",
			"field is immutable", "has to be replaced"}},
		"fixed, StatefulSet": {
			apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "db",
				field.ErrorList{field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than "+
					"'replicas', 'template' are forbidden")}),
			[]string{"cannot be changed in place", "fields other than"},
		},
		"value of a secret": {apierrors.NewInvalid(secrets, "s", field.ErrorList{field.Invalid(field.NewPath("data").Key("k"),
			"planted: value", "must be base64")}), []string{"data[k]", "must be base64"}},
		"unsupported": {apierrors.NewInvalid(secrets, "s", field.ErrorList{field.NotSupported(field.NewPath("type"),
			"planted", []string{"A", "B"})}), []string{`supported are "A", "B"`}},
		"required": {apierrors.NewInvalid(secrets, "s", field.ErrorList{field.Required(
			field.NewPath("metadata", "name"), "name is needed")}), []string{"metadata.name Required value: name is needed"}},
		"no kind": {fmt.Errorf("x: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "x.io",
			Kind: "Foo"}, SearchedVersions: []string{"v1"}}), []string{"no kind Foo in x.io/v1", "CustomResourceDefinition"}},
		"no kind, as text": {errors.New(
			`resource mapping not found for name: "a": no matches for kind "Foo" in version "x.io/v1"`),
			[]string{"no kind Foo in x.io/v1"}},
		"fixed, as text": {
			errors.New(`cannot patch "web" with kind Deployment: Deployment.apps "web" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"planted"}}: field is immutable`),
			[]string{"Deployment web cannot be changed in place: spec.selector has a value that is not allowed: field is " +
				"immutable"},
		},
		"several, as text": {
			errors.New(`Service "web" is invalid: [spec.ports[0].port: Invalid value: 99999: must be between 1 and 65535, metadata.name: Required value: name is needed]`),
			[]string{"Service web is not valid: spec.ports[0].port has a value that is not allowed: must be between 1 and " +
				"65535; metadata.name Required value: name is needed"},
		},
		"webhook, as text": {errors.New(`x: admission webhook "g.example" denied the request: no`),
			[]string{"g.example rejects it: no"}},
		"no namespace": {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"),
			[]string{"namespaces shop is not there"}},
		"overloaded": {refusal(429, metav1.StatusReasonTooManyRequests, "slow down"),
			[]string{"overloaded", "try again"}},
		"own error": {refusal(500, metav1.StatusReasonInternalError, "etcd is away"),
			[]string{"an error of its own: etcd is away"}},
		"refused": {refused, []string{"https://1.2.3.4:6443 does not answer", "connection refused"}},
		"no host": {&url.Error{URL: "https://x.example", Err: &net.DNSError{Name: "x.example", IsNotFound: true}},
			[]string{"no host x.example"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			explained := Explain(fmt.Errorf("create it: %w", test.err))
			for _, want := range test.want {
				if !strings.Contains(explained.Error(), want) {
					t.Errorf("got %s, want %q", explained, want)
				}
			}
			if said := explained.Error(); strings.Contains(said, "planted") || strings.ContainsAny(said, "\n\x1b") ||
				len(said) > 2*maxMessage {
				t.Errorf("got %q", said)
			}
			if !errors.Is(explained, test.err) {
				t.Error("the error is lost")
			}
			if again := Explain(fmt.Errorf("y: %w", explained)); again.Error() != "y: "+explained.Error() {
				t.Errorf("explained twice: %v", again)
			}
		})
	}
	for _, err := range []error{nil, errors.New("other"), context.Canceled} {
		if got := Explain(err); !errors.Is(got, err) || got != nil && got.Error() != err.Error() {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestHostileMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("\x00é\n", 100_000)
	for _, message := range []string{long, `admission webhook "` + long + `" denied the request: ` + long,
		`User "` + long + `" cannot get resource "` + long + `" in API group ""`, "exceeded quota: " + long +
			", requested: " + long} {
		if said := Explain(refusal(403, metav1.StatusReasonForbidden, message)).Error(); len(said) > 10*maxMessage ||
			strings.ContainsAny(said, "\x00\n") {
			t.Errorf("%d bytes", len(said))
		}
	}
}
