package risk

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// taskAttributes returns the rules about ECS tasks and Batch jobs: what their containers may do on
// the host.
func taskAttributes() []attribute {
	return []attribute{
		{
			name:   "task-privileged",
			source: awsDocs + "AmazonECS/latest/developerguide/security-tasks-containers.html",
			kinds:  []string{"aws_ecs_task_definition", "aws_batch_job_definition"},
			paths: []string{"container_definitions", "container_properties", "ecs_properties", "eks_properties",
				"node_properties"},
			test: test{
				when: "a container is privileged, or gets capabilities or devices of the machine, or the definition " +
					"cannot be read",
				actions: actionsPresent, strong: `{"container_definitions": "[{\"name\":\"a\",\"privileged\":false}]"}`,
				weak:   `{"container_definitions": "[{\"name\":\"a\",\"privileged\":true}]"}`,
				object: func(l subjectView) bool { return hasNew(taskRights(l.before), taskRights(l.after)) },
			},
			message: "a container of the task has rights on the machine, or its definition cannot be read",
		},
		{
			name:    "task-host",
			source:  awsDocs + "AmazonECS/latest/developerguide/task_definition_parameters.html",
			kinds:   []string{"aws_ecs_task_definition"},
			paths:   []string{"network_mode", "pid_mode", "ipc_mode"},
			test:    becomes("host"),
			message: "the task shares the network, the processes or the memory of the machine",
		},
		{
			name:    "task-host-path",
			source:  awsDocs + "AmazonECS/latest/developerguide/bind-mounts.html",
			kinds:   []string{"aws_ecs_task_definition"},
			paths:   []string{"volume[*].host_path"},
			test:    adds(),
			message: "the task reads or writes a path of the machine",
		},
		{
			name:    "task-exec",
			source:  awsDocs + "AmazonECS/latest/developerguide/ecs-exec.html",
			kinds:   []string{"aws_ecs_service"},
			paths:   []string{"enable_execute_command"},
			test:    turnsOn(),
			message: "people with rights in the account can run commands in the containers",
		},
	}
}

// taskRights returns what the containers of a definition may do on the host, each with the place of
// its container.
func taskRights(v raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, k := range []string{"container_definitions", "container_properties", "ecs_properties", "node_properties"} {
		definition, isText := stringText(get(v, k))
		if strings.TrimSpace(definition) == "" {
			if !isText {
				containerRights(k, get(v, k), maxSearch, out)
			}
			continue
		}
		if doc, ok := tree.JSONText(definition); ok {
			containerRights(k, doc, maxSearch, out)
		} else {
			out["cannot be read: "+definition] = true
		}
	}
	containerRights("eks_properties", get(v, "eks_properties"), maxSearch, out)
	return out
}

// containerRights collects rights at any depth, under keys in any case, as the provider reads them.
func containerRights(at string, v raw.Value, depth int, out map[string]bool) {
	if depth == 0 {
		return
	}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		switch strings.ToLower(k) {
		case "privileged":
			if strings.EqualFold(text(child), "true") {
				out[at+" privileged"] = true
			}
		case "add":
			for _, c := range oneOrMore(child) {
				out[at+" capability "+text(c)] = true
			}
		case "devices", "sourcepath", "host_path":
			if t, _ := raw.Text(child); child.Len() > 0 || text(child) != "" {
				out[at+" "+k+" "+t] = true
			}
		default:
			containerRights(at+"."+k, child, depth-1, out)
		}
	}
	for i := range v.Len() {
		e := v.At(i)
		name := ""
		for _, k := range e.Keys() {
			if strings.EqualFold(k, "name") {
				name = text(get(e, k))
			}
		}
		containerRights(at+"["+name+"]", e, depth-1, out)
	}
}
