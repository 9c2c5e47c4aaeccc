package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// ExplainedError explains an error of an API server, or of the connection to it, in one
// sentence with a remedy. It wraps the original error.
type ExplainedError struct {
	text string
	err  error
}

// Error returns the explanation. It has a bounded length and contains no control
// characters and no field values.
func (e *ExplainedError) Error() string { return e.text }

// Unwrap returns the original error.
func (e *ExplainedError) Unwrap() error { return e.err }

// Explain wraps an error of an API server, or of the connection to it, in an ExplainedError.
// Errors that are already explained, and all other errors, are returned unchanged.
func Explain(err error) error {
	var explained *ExplainedError
	if err == nil || errors.As(err, &explained) {
		return err
	}
	words := ""
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		words = explainStatus(status.Status())
	case meta.IsNoMatchError(err):
		words = explainNoKind(err.Error())
	default:
		words = explainConnection(err)
	}
	if words == "" {
		words = explainText(err.Error())
	}
	if words == "" {
		return err
	}
	return &ExplainedError{text: words, err: err}
}

// maxMessage bounds how much of a server's or webhook's own message is shown, in bytes.
const maxMessage = 600

func tidy(text string) string {
	return diff.EscapeText(truncate.Text(strings.Join(strings.Fields(text), " "), maxMessage))
}

// Patterns of the messages of API servers. Their wording has been the same since Kubernetes 1.9
// or longer; a message that matches none is shown as it is.
var (
	webhookDenied = lazyregexp.New(
		`(?s)admission webhook "([^"]+)" denied the request(?:: (.*)| without explanation)`)
	webhookUnreachable = lazyregexp.New(`(?s)failed calling webhook "([^"]+)": (.*)`)
	policyDenied       = lazyregexp.New(
		`(?s)ValidatingAdmissionPolicy '([^']+)' with binding '[^']*' denied request: (.*)`)
	quotaExceeded = lazyregexp.New(`(?s)exceeded quota: ([^,]+), (requested: .*)`)
	podSecurity   = lazyregexp.New(`(?s)violates PodSecurity "([^"]+)": (.*)`)
	notAllowed    = lazyregexp.New(
		`(?s)User "([^"]*)" cannot ([a-z]+) (?:resource "([^"]*)" in API group "([^"]*)"|path "([^"]*)")(?: in the namespace "([^"]*)"| at the cluster scope)?`)
	immutable = lazyregexp.New(
		`(?i)immutable|may not be changed|updates to .* spec for fields other than|may not change|cannot be changed|is not allowed to be changed`)
	noMatch = lazyregexp.New(
		`no matches for (?:kind "([^"]*)" in (?:version|group) "([^"]*)"|([A-Za-z0-9.]+/[^,]*), (?:Kind|Resource)=(\w+))`)
)

// explainStatus explains the status of an API server. Messages of admission come first, because they
// occur with many reasons.
func explainStatus(status metav1.Status) string {
	if words := explainAdmission(status.Message); words != "" {
		return words
	}
	switch status.Reason {
	case metav1.StatusReasonForbidden:
		return explainForbidden(status)
	case metav1.StatusReasonUnauthorized:
		return "the cluster does not take the runner's credentials (unauthorized); see to it that its token or certificate " +
			"is valid and belongs to this cluster"
	case metav1.StatusReasonInvalid:
		return explainInvalid(status)
	case metav1.StatusReasonConflict:
		return explainConflict(status)
	case metav1.StatusReasonAlreadyExists:
		return tidy(objectOfStatus(status)+" is there already") + "; plan again, so that what it is gets compared"
	case metav1.StatusReasonNotFound:
		return explainNotFound(status)
	case metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests,
		metav1.StatusReasonServiceUnavailable:
		return tidy("the API server is overloaded or starting ("+status.Message+")") + "; try again when it answers"
	}
	if status.Code >= http.StatusInternalServerError {
		return tidy("the API server has an error of its own: "+status.Message) + "; check the cluster, and try again"
	}
	return tidy("the API server refuses it: " + status.Message)
}

func explainAdmission(message string) string {
	if found := webhookDenied.FindStringSubmatch(message); found != nil {
		said := found[2]
		if said == "" {
			said = "it does not say why"
		}
		return tidy("the admission webhook "+found[1]+" rejects it: "+said) +
			"; change the object to what it asks for, or have the webhook's rules changed"
	}
	if found := webhookUnreachable.FindStringSubmatch(message); found != nil {
		return tidy("the admission webhook "+found[1]+" does not answer the API server: "+found[2]) +
			"; check that it is running, or remove its configuration"
	}
	if found := policyDenied.FindStringSubmatch(message); found != nil {
		return tidy("the admission policy "+found[1]+" rejects it: "+found[2]) + "; change the object to what it asks for"
	}
	if found := quotaExceeded.FindStringSubmatch(message); found != nil {
		return tidy("the quota "+found[1]+" of the namespace is exceeded ("+found[2]+")") +
			"; ask for less, or have the quota raised"
	}
	if found := podSecurity.FindStringSubmatch(message); found != nil {
		return tidy("the namespace allows only pods of the level "+found[1]+": "+found[2]) +
			"; change the pod's security settings, or the namespace's level"
	}
	return ""
}

// isInvalid matches the message for an invalid object; fieldAt finds the fields in it.
var (
	isInvalid = lazyregexp.New(`(?s)([A-Za-z][\w.-]*) "([^"]+)" is invalid: (.*)`)
	fieldAt   = lazyregexp.New(
		`(?:^|[\[ ])([A-Za-z][\w.\[\]/-]*): (?:Invalid|Required|Unsupported|Duplicate|Forbidden|Too|Internal)`)
)

// explainText explains errors of libraries that lose the type of a status but preserve its message.
func explainText(message string) string {
	if words := explainAdmission(message); words != "" {
		return words
	}
	if notAllowed.MatchString(message) {
		return explainForbidden(metav1.Status{Message: message})
	}
	found := isInvalid.FindStringSubmatch(message)
	if found == nil {
		return explainNoKind(message)
	}
	kind, _, _ := strings.Cut(found[1], ".")
	status := metav1.Status{Details: &metav1.StatusDetails{Kind: kind, Name: found[2]}}
	fields := fieldAt.Compiled().FindAllStringSubmatchIndex(found[3], -1)
	for i, at := range fields {
		rest := found[3][at[3]+2:]
		if i+1 < len(fields) {
			rest = found[3][at[3]+2 : fields[i+1][0]]
		}
		status.Details.Causes = append(status.Details.Causes,
			metav1.StatusCause{Field: found[3][at[2]:at[3]], Message: strings.Trim(rest, ", []")})
	}
	return explainInvalid(status)
}

// explainForbidden explains which user may not use which verb on which resource, and where.
func explainForbidden(status metav1.Status) string {
	found := notAllowed.FindStringSubmatch(status.Message)
	if found == nil {
		return tidy("the cluster forbids it: " + status.Message)
	}
	user, verb, resource, group, path, namespace := found[1], found[2], found[3], found[4], found[5], found[6]
	what := resource
	if group != "" {
		what += "." + group
	}
	if path != "" {
		what = path
	}
	where := "in the whole cluster"
	if namespace != "" {
		where = "in the namespace " + namespace
	}
	return tidy(fmt.Sprintf("%s may not %s %s %s (forbidden)", user, verb, what, where)) +
		fmt.Sprintf("; give it a Role or ClusterRole with the verb %s on %s", verb, tidy(what))
}

// objectOfStatus returns the kind and name of the object that a status is about.
func objectOfStatus(status metav1.Status) string {
	if status.Details == nil || status.Details.Name == "" {
		return "the object"
	}
	return firstNonEmpty(status.Details.Kind, "object") + " " + status.Details.Name
}

// explainInvalid explains which fields are invalid and why, without their values: one may be a secret.
func explainInvalid(status metav1.Status) string {
	if status.Details == nil || len(status.Details.Causes) == 0 {
		return tidy(objectOfStatus(status)+" is not valid") + "; correct it"
	}
	var fields []string
	fixed := false
	for _, cause := range status.Details.Causes {
		fixed = fixed || immutable.MatchString(cause.Message)
		fields = append(fields, strings.TrimSpace(cause.Field+" "+withoutValue(cause.Message)))
	}
	named := tidy(strings.Join(fields, "; "))
	if fixed {
		return tidy(objectOfStatus(status)+" cannot be changed in place") + ": " + named +
			"; it has to be replaced: delete the object, or give it another name, and deploy again"
	}
	return tidy(objectOfStatus(status)+" is not valid") + ": " + named + "; correct it"
}

// withoutValue removes the value from a cause's message such as `Invalid value: "x":
// must be …`. It returns the text after the last value.
func withoutValue(message string) string {
	kind, rest, found := strings.Cut(message, " value: ")
	if !found || kind == "Required" { // a required field has no value
		return message
	}
	detail := ""
	if at := strings.LastIndex(rest, ": "); at >= 0 {
		detail = rest[at+2:]
	}
	if kind == "Unsupported" {
		// The detail has a second colon before the list of supported values.
		if _, supported, is := strings.Cut(rest, ": supported values: "); is {
			return "has an unsupported value; supported are " + supported
		}
	}
	if detail == "" {
		return "has a value that is not allowed"
	}
	return "has a value that is not allowed: " + detail
}

func explainConflict(status metav1.Status) string {
	if status.Details != nil {
		var held []string
		for _, cause := range status.Details.Causes {
			if cause.Type == metav1.CauseTypeFieldManagerConflict {
				held = append(held, cause.Field+" ("+strings.TrimPrefix(cause.Message, "conflict with ")+")")
			}
		}
		if len(held) > 0 {
			return tidy(objectOfStatus(status)+" has fields that others own: "+strings.Join(held, ", ")) +
				"; leave them out, or take them over"
		}
	}
	return tidy(objectOfStatus(status)+" was changed by somebody else at the same moment ("+status.Message+")") +
		"; try again"
}

func explainNotFound(status metav1.Status) string {
	if status.Details == nil || status.Details.Name == "" {
		return tidy("the cluster does not have this kind of object ("+status.Message+")") +
			"; install its CustomResourceDefinition first"
	}
	return tidy(objectOfStatus(status)+" is not there ("+status.Message+")") + "; deploy what makes it first"
}

// explainNoKind explains that the server does not have a kind.
func explainNoKind(message string) string {
	found := noMatch.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	kind, version := firstNonEmpty(found[1], found[4]), firstNonEmpty(found[2], found[3])
	return tidy(fmt.Sprintf("the cluster has no kind %s in %s: there is no CRD for it", kind, version)) +
		"; install its CustomResourceDefinition first, or correct apiVersion and kind"
}

// explainConnection explains that no server answered, or a server with another certificate.
func explainConnection(err error) string {
	where := "the API server"
	var request *url.Error
	if errors.As(err, &request) {
		if parsed, parseErr := url.Parse(request.URL); parseErr == nil {
			where += " at " + parsed.Scheme + "://" + parsed.Host
		}
		err = request.Err // the rest of the URL is not shown
	}
	var (
		verification *tls.CertificateVerificationError
		unknown      x509.UnknownAuthorityError
		name         *net.DNSError
		network      net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &verification), errors.As(err, &unknown):
		return tidy(where+" shows a certificate that is not of the cluster's certificate authority ("+err.Error()+")") +
			"; correct the certificate authority that the cluster's outputs or the kubeconfig give"
	case errors.As(err, &name):
		return tidy(where+" has no address: there is no host "+name.Name) +
			"; correct the cluster's address, or the runner's name server"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), isUnanswered(err):
		return tidy(where+" does not answer ("+err.Error()+")") +
			"; check that the cluster is running and that the runner can reach it"
	case errors.As(err, &network):
		return tidy(where+" cannot be reached ("+err.Error()+")") +
			"; check that the cluster is running and that the runner can reach it"
	}
	return ""
}

// isTemporary reports whether an error may disappear when the server recovers,
// so that a wait can continue.
func isTemporary(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests
	}
	return isUnanswered(err)
}
