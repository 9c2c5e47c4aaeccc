package risk

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Sets of actions for rules.
var (
	actionsUpdate   = []diff.Action{diff.Update}
	actionsChange   = []diff.Action{diff.Update, diff.Replace}
	actionsCreate   = []diff.Action{diff.Create}
	actionsPresent  = []diff.Action{diff.Create, diff.Update, diff.Replace}
	actionsDestroy  = []diff.Action{diff.Destroy}
	actionsLoss     = []diff.Action{diff.Destroy, diff.Replace}
	actionsExisting = []diff.Action{diff.Update, diff.Replace, diff.Destroy}
)

const k8sDocs = "https://kubernetes.io/docs/"

// kubernetesRules returns the rules for Kubernetes objects.
func kubernetesRules() []Rule {
	out := slices.Concat(
		immutableRules(), lossRules(), podRules(), scaleRules(), storageRules(), configRules(), crdRules(),
		schemaRules(), quotaRules(), lifecycleRules(), reachRules(), annotationRules(), clusterServiceRules(),
		networkPolicyRules(), identityRules(), rightsRules(), containerRules(), podInputRules(), podPlaceRules(),
		isolationRules(), confinementRules(), admissionRules(), engineRules(),
	)
	for i := range out {
		out[i].Engine = diff.KindKubernetes
	}
	return out
}

// immutableRules returns the rules for fields that the API server never lets change. The object must
// be deleted and created again.
func immutableRules() []Rule {
	rules := slices.Concat(fixedWorkloads(), fixedObjects())
	for i := range rules {
		rules[i].Actions, rules[i].Risk, rules[i].Replaces = actionsUpdate, diff.RiskDestroy, true
	}
	return rules
}

// fixedWorkloads returns the immutable fields of workloads and of the objects that they need.
func fixedWorkloads() []Rule {
	return []Rule{
		{
			Name: "workload-selector", Source: k8sDocs + "concepts/workloads/controllers/deployment/#label-selector-updates",
			Kinds: []string{"Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps"}, Paths: []string{"spec.selector"},
			Message: "the selector is immutable: the object is deleted with its pods and created again",
		},
		{
			Name: "statefulset-fixed", Source: k8sDocs + "concepts/workloads/controllers/statefulset/",
			Kinds: []string{"StatefulSet.apps"}, Paths: []string{"spec"},
			Except: []string{"spec.replicas", "spec.ordinals", "spec.template", "spec.updateStrategy",
				"spec.revisionHistoryLimit", "spec.persistentVolumeClaimRetentionPolicy", "spec.minReadySeconds"},
			Message: "this part of a StatefulSet is immutable: it is deleted and created again, and its volumes stay " +
				"as they are",
		},
		{
			Name: "job-fixed", Source: k8sDocs + "concepts/workloads/controllers/job/",
			Kinds: []string{"Job.batch"},
			Paths: []string{"spec.template", "spec.selector", "spec.completionMode", "spec.podFailurePolicy",
				"spec.successPolicy", "spec.backoffLimitPerIndex", "spec.managedBy", "spec.podReplacementPolicy"},
			Message: "a Job is immutable: it is deleted with its pods and runs again",
		},
		{
			Name: "job-completions", Source: k8sDocs + "concepts/workloads/controllers/job/#elastic-indexed-jobs",
			Kinds: []string{"Job.batch"}, Paths: []string{"spec.completions"},
			When:    "the Job is not an Indexed one whose parallelism changes alike",
			holds:   func(l subjectView) bool { return !elastic(l) },
			Message: "the number of completions of a Job is immutable: the Job is deleted with its pods and runs again",
		},
		{
			Name: "pod-fixed", Source: k8sDocs + "concepts/workloads/pods/#pod-update-and-replacement",
			Kinds: []string{"Pod"}, Paths: []string{"spec"},
			Except: []string{"spec.containers[*].image", "spec.initContainers[*].image", "spec.activeDeadlineSeconds",
				"spec.tolerations", "spec.terminationGracePeriodSeconds", "spec.schedulingGates"},
			Message: "this part of a Pod is immutable: the Pod is deleted and created again",
		},
		{
			Name: "service-cluster-ip", Source: k8sDocs + "concepts/services-networking/service/#choosing-your-own-ip-address",
			Kinds: []string{"Service"}, Paths: []string{"spec.clusterIP", "spec.clusterIPs[*]"},
			When: "an address is requested, and the Service still has a cluster IP",
			holds: func(l subjectView) bool {
				external := text(get(l.before, "spec", "type")) == "ExternalName" ||
					text(get(l.after, "spec", "type")) == "ExternalName"
				return !external && text(get(l.after, "spec", "clusterIP")) != ""
			},
			matches: onDifference(func(f field) bool { return f.HasAfter }),
			Message: "the address of a Service is immutable: the Service is deleted and created again, and clients cannot " +
				"reach it in between",
		},
		{
			Name:   "service-balancer-class",
			Source: k8sDocs + "concepts/services-networking/service/#load-balancer-class",
			Kinds:  []string{"Service"}, Paths: []string{"spec.loadBalancerClass"}, Security: true,
			When: "the Service was and stays a LoadBalancer",
			holds: func(l subjectView) bool {
				return text(get(l.before, "spec", "type")) == "LoadBalancer" &&
					text(get(l.after, "spec", "type")) == "LoadBalancer"
			},
			Message: "the class of a load balancer is immutable: the Service is deleted and created again, and gets another " +
				"load balancer and address, which other networks may reach",
		},
		{
			Name: "claim-fixed", Source: k8sDocs + "concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
			Kinds: []string{"PersistentVolumeClaim"}, Paths: []string{"spec"},
			Except: []string{"spec.resources", "spec.volumeAttributesClassName"},
			Message: "only the size of a claim can change: the claim is deleted and created again, and its data is lost with " +
				"the volume unless that is retained",
		},
		{
			Name: "claim-shrinks", Source: k8sDocs + "concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
			Kinds: []string{"PersistentVolumeClaim"}, Paths: []string{"spec.resources.requests.storage"},
			When: "the size gets smaller",
			holds: func(l subjectView) bool {
				return less(size(l.after), size(l.before))
			},
			Message: "a volume cannot shrink: the claim is deleted and created again, and its data is lost with the volume " +
				"unless that is retained",
		},
	}
}

// fixedObjects returns the immutable fields of all other objects.
func fixedObjects() []Rule {
	return []Rule{
		{
			Name: "volume-source", Source: k8sDocs +
				"reference/kubernetes-api/config-and-storage-resources/persistent-volume-v1/",
			Kinds: []string{"PersistentVolume"}, Paths: []string{"spec"},
			Except: []string{"spec.capacity", "spec.accessModes", "spec.claimRef", "spec.persistentVolumeReclaimPolicy",
				"spec.storageClassName", "spec.mountOptions", "spec.volumeAttributesClassName"},
			Message: "the source of a volume is immutable: the volume is deleted and created again",
		},
		{
			Name: "storage-class-fixed", Source: k8sDocs + "concepts/storage/storage-classes/",
			Kinds: []string{"StorageClass.storage.k8s.io"},
			Paths: []string{"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"},
			Message: "this part of a StorageClass is immutable: it is deleted and created again; existing volumes stay " +
				"as they are",
		},
		{
			Name: "config-immutable", Source: k8sDocs + "concepts/configuration/configmap/#configmap-immutable",
			Kinds: []string{"ConfigMap", "Secret"}, Paths: []string{"data", "binaryData", "stringData", "immutable"},
			When:  "the object is marked as immutable",
			holds: func(l subjectView) bool { return get(l.before, "immutable").IsTrue() },
			Message: "the object is marked as immutable: it is deleted and created again, and pods keep the old content until " +
				"they restart",
		},
		{
			Name: "secret-type", Source: k8sDocs + "concepts/configuration/secret/#secret-types",
			Kinds: []string{"Secret"}, Paths: []string{"type"},
			When:    "neither side leaves it out",
			matches: onDifference(func(f field) bool { return f.HasBefore && f.HasAfter }),
			Message: "the type of a Secret is immutable: it is deleted and created again",
		},
		{
			Name: "binding-role", Source: k8sDocs + "reference/access-authn-authz/rbac/#clusterrolebinding-example",
			Security: true,
			Kinds:    []string{"RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io"},
			Paths:    []string{"roleRef"},
			Message: "the subjects get another role; the role of a binding is immutable, so the binding is deleted and " +
				"created again",
		},
		{
			Name: "class-controller", Source: k8sDocs + "concepts/services-networking/ingress/#ingress-class",
			Kinds: []string{"IngressClass.networking.k8s.io"}, Paths: []string{"spec.controller"},
			Message: "the controller of a class is immutable: the class is deleted and created again",
		},
		{
			Name: "gateway-class-controller", Source: "https://gateway-api.sigs.k8s.io/api-types/gatewayclass/",
			Kinds: []string{"GatewayClass.gateway.networking.k8s.io"}, Paths: []string{"spec.controllerName"},
			Message: "the controller of a class is immutable: the class is deleted and created again",
		},
		{
			Name: "priority-value", Source: k8sDocs + "concepts/scheduling-eviction/pod-priority-preemption/#priorityclass",
			Kinds: []string{"PriorityClass.scheduling.k8s.io"}, Paths: []string{"value", "preemptionPolicy"},
			Message: "the value of a PriorityClass is immutable: it is deleted and created again; running pods keep " +
				"their priority",
		},
		{
			Name: "runtime-handler", Source: k8sDocs + "concepts/containers/runtime-class/",
			Kinds: []string{"RuntimeClass.node.k8s.io"}, Paths: []string{"handler"},
			Message: "the handler of a RuntimeClass is immutable: it is deleted and created again",
		},
		{
			Name: "csi-driver-fixed", Source: k8sDocs + "reference/kubernetes-api/config-and-storage-resources/csi-driver-v1/",
			Kinds: []string{"CSIDriver.storage.k8s.io"}, Paths: []string{"spec.attachRequired", "spec.volumeLifecycleModes"},
			Message: "this part of a CSIDriver is immutable: it is deleted and created again",
		},
		{
			Name: "crd-identity", Source: k8sDocs + "tasks/extend-kubernetes/custom-resources/custom-resource-definitions/",
			Kinds:   []string{"CustomResourceDefinition.apiextensions.k8s.io"},
			Paths:   []string{"spec.group", "spec.scope", "spec.names.plural"},
			Message: "the names and the scope of a custom resource are immutable: it is deleted with all objects of its kind",
		},
	}
}

// elastic reports whether a Job may change its completions, see
// https://kubernetes.io/docs/concepts/workloads/controllers/job/#elastic-indexed-jobs
func elastic(l subjectView) bool {
	spec := get(l.after, "spec")
	return text(get(spec, "completionMode")) == "Indexed" &&
		text(get(spec, "completions")) == text(get(spec, "parallelism"))
}

func size(claim raw.Value) raw.Value { return get(claim, "spec", "resources", "requests", "storage") }

// lossRules returns the rules about what is lost together with an object.
func lossRules() []Rule {
	rules := []Rule{
		{
			Name: "claim-gone", Source: k8sDocs + "concepts/storage/persistent-volumes/#reclaiming",
			Kinds:   []string{"PersistentVolumeClaim"},
			Message: "the data of the claim is deleted with its volume, unless the reclaim policy is Retain",
		},
		{
			Name: "volume-gone", Source: k8sDocs + "concepts/storage/persistent-volumes/#reclaiming",
			Kinds:   []string{"PersistentVolume"},
			Message: "the cluster forgets the volume; with the reclaim policy Delete its data is deleted, too",
		},
		{
			Name: "namespace-gone", Source: k8sDocs + "tasks/administer-cluster/namespaces/#deleting-a-namespace",
			Kinds:   []string{"Namespace"},
			Message: "everything in the namespace is deleted with it, including objects not listed here",
		},
		{
			Name: "crd-gone", Source: k8sDocs +
				"tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#delete-a-customresourcedefinition",
			Kinds:   []string{"CustomResourceDefinition.apiextensions.k8s.io"},
			Message: "all objects of this kind in the whole cluster are deleted with it, including those of others",
		},
		{
			Name: "statefulset-gone", Source: k8sDocs + "tasks/run-application/delete-stateful-set/#persistent-volumes",
			Kinds:   []string{"StatefulSet.apps"},
			When:    "its claims are retained, which is the default",
			holds:   func(l subjectView) bool { return !claimsDeleted(l) },
			Message: "its pods end; the claims with its data stay, and a StatefulSet of the same name uses them again",
		},
		{
			Name:   "statefulset-gone-with-data",
			Source: k8sDocs + "concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention",
			Kinds:  []string{"StatefulSet.apps"},
			When:   "its retention policy is to delete the claims", holds: claimsDeleted,
			Message: "its pods end, and the claims with its data are deleted",
		},
		{
			Name: "secret-gone", Source: k8sDocs + "concepts/configuration/secret/#using-secrets", Kinds: []string{"Secret"},
			Message: "pods that read it no longer start, and its content may exist nowhere else",
		},
		{
			Name: "config-gone", Source: k8sDocs + "concepts/configuration/configmap/#using-configmaps",
			Kinds:   []string{"ConfigMap"},
			When:    "it is not renamed",
			holds:   func(l subjectView) bool { return !l.renamed },
			Message: "pods that still refer to it no longer start, unless the reference is optional",
		},
		{
			Name: "account-gone", Source: k8sDocs + "concepts/security/service-accounts/", Kinds: []string{"ServiceAccount"},
			Message: "its pods lose their access to the API, and new ones do not start",
		},
		{
			Name: "service-gone", Source: k8sDocs + "concepts/services-networking/service/", Kinds: []string{"Service"},
			Message: "clients lose its name and its address, and its load balancer if it has one",
		},
		{
			Name: "disruption-budget-gone", Source: k8sDocs + "concepts/workloads/pods/disruptions/#pod-disruption-budgets",
			Kinds:   []string{"PodDisruptionBudget.policy"},
			Message: "nothing keeps a drain of nodes from ending all pods at once",
		},
		{
			Name: "autoscaler-gone", Source: k8sDocs + "tasks/run-application/horizontal-pod-autoscale/",
			Kinds:   []string{"HorizontalPodAutoscaler.autoscaling"},
			Message: "the number of pods no longer follows the load",
		},
		{
			Name: "network-policy-gone", Source: k8sDocs + "concepts/services-networking/network-policies/#isolation",
			Security: true, Kinds: append([]string{"NetworkPolicy.networking.k8s.io"}, customPolicies...),
			Message: "the pods that it selects may send or receive traffic that it blocked",
		},
		{
			Name: "quota-gone", Source: k8sDocs + "concepts/policy/resource-quotas/",
			Kinds:   []string{"ResourceQuota", "LimitRange"},
			Message: "nothing limits the resources that the namespace uses",
		},
		{
			Name: "admission-gone", Source: k8sDocs + "reference/access-authn-authz/extensible-admission-controllers/",
			Security: true, Kinds: []string{"*WebhookConfiguration.admissionregistration.k8s.io",
				"*AdmissionPolicy*.admissionregistration.k8s.io"},
			Message: "requests that it checked or changed are no longer checked or changed",
		},
	}
	for i := range rules {
		rules[i].Actions, rules[i].Risk = actionsLoss, diff.RiskDestroy
	}
	return rules
}

func claimsDeleted(l subjectView) bool {
	return text(get(l.before, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")) == "Delete"
}

// podRules returns the rules about pods that stop and start.
func podRules() []Rule {
	rolling := k8sDocs + "concepts/workloads/controllers/deployment/#updating-a-deployment"
	template := []string{"spec.template"}
	return []Rule{
		{
			Name: "pods-roll", Source: rolling, Kinds: []string{"Deployment.apps"}, Actions: actionsUpdate, Paths: template,
			Risk:    diff.RiskRestart,
			When:    "it has pods, is not paused, and does not end all of them first",
			holds:   func(l subjectView) bool { return rollsOut(l) && !recreates(l) },
			Message: "the pod template changes: all pods are replaced, a few at a time",
		},
		{
			Name: "pods-recreate", Source: k8sDocs + "concepts/workloads/controllers/deployment/#recreate-deployment",
			Kinds: []string{"Deployment.apps"}, Actions: actionsUpdate, Paths: template, Risk: diff.RiskRestart,
			When: "the strategy is Recreate", holds: recreates,
			Message: "the pod template changes: all pods end before the first new one starts, so there is downtime",
		},
		{
			Name: "pods-paused", Source: k8sDocs +
				"concepts/workloads/controllers/deployment/#pausing-and-resuming-a-deployment",
			Kinds: []string{"Deployment.apps"}, Actions: actionsUpdate, Paths: template, Risk: diff.RiskInPlace,
			When: "it is paused", holds: func(l subjectView) bool { return get(l.after, "spec", "paused").IsTrue() },
			Message: "the pod template changes, but the Deployment is paused: pods are replaced once someone resumes it",
		},
		{
			Name: "pods-resume", Source: k8sDocs +
				"concepts/workloads/controllers/deployment/#pausing-and-resuming-a-deployment",
			Kinds: []string{"Deployment.apps"}, Actions: actionsUpdate, Paths: []string{"spec.paused"}, Risk: diff.RiskRestart,
			When: "it is no longer paused", holds: func(l subjectView) bool { return get(l.before, "spec", "paused").IsTrue() },
			Message: "the Deployment is resumed: pods are replaced if their template changed in the meantime",
		},
		{
			Name: "stateful-pods-roll", Source: k8sDocs + "concepts/workloads/controllers/statefulset/#rolling-updates",
			Kinds: []string{"StatefulSet.apps"}, Actions: actionsUpdate, Paths: template, Risk: diff.RiskRestart,
			When: "it has pods and its strategy is not OnDelete", holds: rollsOut,
			Message: "the pod template changes: its pods are replaced one after the other, down to the partition if it has one",
		},
		{
			Name: "daemon-pods-roll", Source: k8sDocs + "tasks/manage-daemon/update-daemon-set/",
			Kinds:   []string{"DaemonSet.apps"},
			Actions: actionsUpdate, Paths: template, Risk: diff.RiskRestart, When: "its strategy is not OnDelete",
			holds:   rollsOut,
			Message: "the pod template changes: the pod on every node is replaced, a few nodes at a time",
		},
		{
			Name: "pods-wait-for-deletion", Source: k8sDocs + "tasks/manage-daemon/update-daemon-set/#daemonset-update-strategy",
			Kinds: []string{"DaemonSet.apps", "StatefulSet.apps"}, Actions: actionsUpdate, Paths: template,
			Risk: diff.RiskInPlace,
			When: "its strategy is OnDelete", holds: updatesOnDelete,
			Message: "the pod template changes, but pods get it only when someone deletes them",
		},
		{
			Name: "cron-template", Source: k8sDocs + "concepts/workloads/controllers/cron-jobs/#modifying-a-cronjob",
			Kinds: []string{"CronJob.batch"}, Actions: actionsUpdate, Paths: []string{"spec.jobTemplate"},
			Risk:    diff.RiskInPlace,
			Message: "the next run uses the new template; a current run continues unchanged",
		},
		{
			Name: "pod-image", Source: k8sDocs + "concepts/workloads/pods/#pod-update-and-replacement", Kinds: []string{"Pod"},
			Actions: actionsUpdate, Paths: []string{"spec.containers[*].image", "spec.initContainers[*].image"},
			Risk:    diff.RiskRestart,
			Message: "the container restarts with the new image",
		},
		{
			Name: "job-again", Source: k8sDocs + "concepts/workloads/controllers/job/", Kinds: []string{"Job.batch"},
			Actions: []diff.Action{diff.Replace}, Risk: diff.RiskReplace, Message: "the new Job runs from the beginning",
		},
	}
}

// scaleRules returns the rules about the number of pods.
func scaleRules() []Rule {
	scaled := []string{"Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "ReplicationController"}
	replicas := func(v raw.Value) raw.Value { return get(v, "spec", "replicas") }
	hpa := func(v raw.Value, key string) raw.Value { return get(v, "spec", key) }
	return []Rule{
		{
			Name: "scale-to-zero", Source: k8sDocs + "concepts/workloads/controllers/deployment/#scaling-a-deployment",
			Kinds: scaled, Actions: actionsChange, Paths: []string{"spec.replicas"}, Risk: diff.RiskRestart,
			When:    "there are to be none",
			holds:   func(l subjectView) bool { return text(replicas(l.after)) == "0" },
			Message: "all pods end, and nothing runs",
		},
		{
			Name: "scale-down", Source: k8sDocs + "concepts/workloads/controllers/deployment/#scaling-a-deployment",
			Kinds:   scaled,
			Actions: actionsChange, Paths: []string{"spec.replicas"}, Risk: diff.RiskRestart,
			When: "there are to be fewer, but some; 1 where it is left out",
			holds: func(l subjectView) bool {
				one := raw.Of("1")
				was, is := orElse(replicas(l.before), one), orElse(replicas(l.after), one)
				return less(is, was) && text(is) != "0"
			},
			Message: "some of the pods end",
		},
		{
			Name: "autoscaler-bounds", Source: k8sDocs + "tasks/run-application/horizontal-pod-autoscale/",
			Kinds: []string{"HorizontalPodAutoscaler.autoscaling"}, Actions: actionsChange,
			Paths: []string{"spec.minReplicas", "spec.maxReplicas"}, Risk: diff.RiskInPlace, When: "a bound gets lower",
			holds: func(l subjectView) bool {
				return less(hpa(l.after, "maxReplicas"), hpa(l.before, "maxReplicas")) ||
					less(hpa(l.after, "minReplicas"), hpa(l.before, "minReplicas"))
			},
			Message: "there may be fewer pods than before",
		},
		{
			Name: "disruption-budget-lowered", Source: k8sDocs + "concepts/workloads/pods/disruptions/#pod-disruption-budgets",
			Kinds: []string{"PodDisruptionBudget.policy"}, Actions: actionsChange,
			Paths: []string{"spec.minAvailable", "spec.maxUnavailable", "spec.selector"}, Risk: diff.RiskInPlace,
			Message: "how many pods a drain of nodes may end at once changes",
		},
	}
}

func orElse(v, other raw.Value) raw.Value {
	if v.IsNull() {
		return other
	}
	return v
}

// storageRules returns the rules about volumes.
func storageRules() []Rule {
	return []Rule{
		{
			Name: "claim-grows", Source: k8sDocs + "concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
			Kinds: []string{"PersistentVolumeClaim"}, Actions: actionsUpdate, Paths: []string{"spec.resources.requests.storage"},
			Risk: diff.RiskInPlace,
			When: "the size gets larger", holds: func(l subjectView) bool { return less(size(l.before), size(l.after)) },
			Message: "the volume grows in place, if its class allows that, and can never shrink again",
		},
		{
			Name: "volume-reclaim-delete", Source: k8sDocs + "concepts/storage/persistent-volumes/#reclaiming",
			Kinds: []string{"PersistentVolume"}, Actions: actionsUpdate, Paths: []string{"spec.persistentVolumeReclaimPolicy"},
			Risk: diff.RiskInPlace, When: "it is Delete now",
			holds: func(l subjectView) bool {
				return text(get(l.after, "spec", "persistentVolumeReclaimPolicy")) == "Delete"
			},
			Message: "from now on the data is deleted with the claim",
		},
		{
			Name:   "claims-deleted-with-set",
			Source: k8sDocs + "concepts/workloads/controllers/statefulset/#persistentvolumeclaim-retention",
			Kinds:  []string{"StatefulSet.apps"}, Actions: actionsUpdate,
			Paths: []string{"spec.persistentVolumeClaimRetentionPolicy"}, Risk: diff.RiskInPlace,
			When: "claims are to be deleted that were retained",
			holds: func(l subjectView) bool {
				was, is := get(l.before, "spec", "persistentVolumeClaimRetentionPolicy"),
					get(l.after, "spec", "persistentVolumeClaimRetentionPolicy")
				for _, k := range []string{"whenDeleted", "whenScaled"} {
					if text(get(is, k)) == "Delete" && text(get(was, k)) != "Delete" {
						return true
					}
				}
				return false
			},
			Message: "from now on the data is deleted with the StatefulSet, or when it is scaled down",
		},
	}
}

// configRules returns the rules about configuration that pods read.
func configRules() []Rule {
	read := []string{"data", "binaryData", "stringData"}
	return []Rule{
		{
			Name:   "config-changed",
			Source: k8sDocs + "concepts/configuration/configmap/#mounted-configmaps-are-updated-automatically",
			Kinds:  []string{"ConfigMap", "Secret"}, Actions: actionsUpdate, Paths: read, Risk: diff.RiskInPlace,
			When:    "the value is not generated again at each rendering",
			matches: onDifference(func(f field) bool { return !f.regenerated }),
			Message: "this alone restarts no pod",
		},
		{
			Name:   "value-regenerated",
			Source: "https://helm.sh/docs/chart_template_guide/function_list/#randalphanum-randalpha-randnumeric-and-randascii",
			Kinds:  []string{"ConfigMap", "Secret"}, Actions: actionsUpdate, Paths: read, Risk: diff.RiskInPlace,
			When: "the value is generated again at each rendering", matches: onDifference(
				func(f field) bool { return f.regenerated }),
			Message: "the chart generates a new value at each deploy: everything that uses the old one no longer matches",
		},
	}
}

// crdRules returns the rules about custom resource definitions.
func crdRules() []Rule {
	kinds := []string{"CustomResourceDefinition.apiextensions.k8s.io"}
	versioning := k8sDocs + "tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/"
	return []Rule{
		{
			Name: "crd-version-gone", Source: versioning, Kinds: kinds, Actions: actionsUpdate,
			Paths: []string{"spec.versions[*].served", "spec.versions[*].storage"}, Risk: diff.RiskDestroy,
			When:  "a version is removed",
			holds: func(l subjectView) bool { return hasNew(versions(l.after, nil), versions(l.before, nil)) },
			Message: "a version of the custom resource is removed: its clients fail, and so does this change while objects " +
				"are stored in it",
		},
		{
			Name: "crd-version-not-served", Source: versioning, Kinds: kinds, Actions: actionsUpdate,
			Paths: []string{"spec.versions[*].served"}, Risk: diff.RiskInPlace,
			When: "a remaining version is no longer served",
			holds: func(l subjectView) bool {
				stays := versions(l.after, nil)
				now := versions(l.after, served)
				for v := range versions(l.before, served) {
					if stays[v] && !now[v] {
						return true
					}
				}
				return false
			},
			Message: "a version of the custom resource is no longer served: its clients fail",
		},
		{
			Name: "crd-stored-version", Source: versioning + "#upgrade-existing-objects-to-a-new-stored-version", Kinds: kinds,
			Actions: actionsUpdate, Paths: []string{"spec.versions[*].storage"}, Risk: diff.RiskInPlace,
			When: "another version is the stored one",
			holds: func(l subjectView) bool {
				return hasNew(versions(l.before, storage), versions(l.after, storage))
			},
			Message: "new objects are stored in another version, and existing ones once something writes them",
		},
		{
			Name:    "crd-field-gone",
			Source:  k8sDocs + "tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning",
			Kinds:   kinds,
			Actions: actionsUpdate, Paths: []string{"spec.versions[*].schema"}, Risk: diff.RiskDestroy,
			When: "the schema of a version loses a field",
			matches: func(l subjectView) func(field) bool {
				after := finder(get(l.after, "spec", "versions"))
				return func(f field) bool { return fieldGone(f.Difference, after) }
			},
			Message: "a field is removed from the schema: existing objects lose its values when something writes them",
		},
	}
}
