package policy

import (
	"strings"
	"testing"
	"time"
)

// TestCommands checks which debug commands the owner's patterns allow.
func TestCommands(t *testing.T) {
	rule := parsed(t, `[debug]
commands = ["kubectl get ...", "kubectl logs * --tail=5", "kubectl get secrets", "df -h", "helm list ...", "kubectl top *"]
`).RuleAt(time.Now())
	for command, want := range map[string]bool{
		"kubectl get": true, "kubectl get pods": true, "kubectl get pods,services -n web -o wide": true,
		"kubectl get pods -nweb -l app=web -A --sort-by=.metadata.name": true,
		"kubectl get pod web -o jsonpath={.spec}":                       true,
		"kubectl get pods -o yaml --show-labels":                        true,
		"kubectl logs web --tail=5":                                     true, "kubectl get secrets": true,
		"df -h": true, "helm list": true, "helm list web": true, "kubectl top pods": true,

		"kubectl": false, "kubectl delete pods": false, "kubectl get pods --kubeconfig=/x": false,
		"kubectl get pods --server https://evil.example": false, "kubectl get pods -s https://evil.example": false,
		"kubectl get pods -Ashttps://evil.example": false, "kubectl get pods -A=false": false,
		"kubectl get --raw /api":     false,
		"kubectl get pods --token x": false, "kubectl get pods --as admin": false, "kubectl get -f /etc/passwd": false,
		"kubectl get pods -o jsonpath-file=/etc/passwd": false, "kubectl get pods -ogo-template-file=/etc/passwd": false,
		"kubectl get pods -o": false, "kubectl get pods -- sh": false, "kubectl get pods --v=9": false,
		"kubectl get secret": false, "kubectl get Secrets": false, "kubectl get pods,secrets": false,
		"kubectl get secret/web": false, "kubectl get secrets.v1.": false, "kubectl get cm web": false,
		"kubectl get secrets -o yaml": false, "kubectl get configmaps.v1": false, "kubectl top secrets": false,
		"kubectl logs -f --tail=5": false, "kubectl logs web api --tail=5": false, "kubectl logs web": false,
		"df": false, "df -h /": false, "helm list --kube-apiserver x": false, "helm list -n web": false, "sh -c ls": false,
		"/tmp/kubectl get pods": false, "kubectl-get pods": false, "": false,
	} {
		if err := rule.CheckCommand(strings.Fields(command)); err == nil != want {
			t.Errorf("%s: %v", command, err)
		}
	}
	if err := rule.CheckCommand([]string{"kubectl get pods"}); err == nil {
		t.Error("one word with spaces is taken for three")
	}
}

// TestPatternsOfCommands checks the errors of patterns that would allow more than their author may see.
func TestPatternsOfCommands(t *testing.T) {
	for _, pattern := range []string{"", "   ", "*", "...", "* get", "kubectl", "kubectl *", "kubectl ...",
		"helm ... list", "kubectl get ... pods", "x" + strings.Repeat(" y", 200)} {
		if _, err := Parse("runner.toml", []byte("[debug]\ncommands = ['"+pattern+"']\n")); err == nil {
			t.Errorf("%q is accepted", pattern)
		}
	}
}
