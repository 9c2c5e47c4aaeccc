package main

import (
	"hash/fnv"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podStatus returns the status of a pod; init, main and ephemeral are the views of its containers, in the order of its
// spec.
func podStatus(pod *corev1.Pod, init, main, ephemeral []view, begun, now time.Time) corev1.PodStatus {
	s := *pod.Status.DeepCopy()
	started := metav1.NewTime(begun).Rfc3339Copy()
	s.StartTime, s.HostIP, s.HostIPs = &started, "127.0.0.1", []corev1.HostIP{{IP: "127.0.0.1"}}
	if s.PodIP == "" {
		s.PodIP = podAddress(pod)
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	s.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, init)
	s.ContainerStatuses = containerStatuses(pod.Spec.Containers, main)
	s.EphemeralContainerStatuses = containerStatuses(ephemeralContainers(pod), ephemeral)
	s.Phase = phase(pod, init, main)
	s.ObservedGeneration = pod.Generation
	initialized, ready := passedInit(pod, init), s.Phase == corev1.PodRunning && allReady(main)
	over := s.Phase == corev1.PodSucceeded || s.Phase == corev1.PodFailed
	set := func(kind corev1.PodConditionType, is bool, reason string) { setCondition(&s, kind, is, reason, now) }
	set(corev1.PodReadyToStartContainers, !over, "")
	set(corev1.PodInitialized, initialized, unless(initialized, "ContainersNotInitialized"))
	reason := unless(ready, "ContainersNotReady")
	if s.Phase == corev1.PodSucceeded {
		reason = "PodCompleted"
	}
	set(corev1.ContainersReady, ready, reason)
	if ready && !gatesOpen(&s, pod.Spec.ReadinessGates) {
		ready, reason = false, "ReadinessGatesNotReady"
	}
	set(corev1.PodReady, ready, reason)
	return s
}

func unless(well bool, reason string) string {
	if well {
		return ""
	}
	return reason
}

// phase follows the rules of the pod life cycle.
func phase(pod *corev1.Pod, init, main []view) corev1.PodPhase {
	for i, v := range init {
		if !isSidecar(&pod.Spec.InitContainers[i]) && v.ended() && !v.endedWell() {
			return corev1.PodFailed
		}
	}
	if !passedInit(pod, init) {
		return corev1.PodPending
	}
	ended, well := true, true
	for _, v := range main {
		if !v.hasRun() {
			return corev1.PodPending
		}
		ended, well = ended && v.ended(), well && v.endedWell()
	}
	switch {
	case !ended:
		return corev1.PodRunning
	case well:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

// ephemeralContainers returns the ephemeral containers of a pod as containers.
func ephemeralContainers(pod *corev1.Pod) []corev1.Container {
	var all []corev1.Container
	for _, c := range pod.Spec.EphemeralContainers {
		all = append(all, corev1.Container(c.EphemeralContainerCommon))
	}
	return all
}

// passedInit reports whether the main containers may run.
func passedInit(pod *corev1.Pod, init []view) bool {
	for i, v := range init {
		if !passed(&pod.Spec.InitContainers[i], v) {
			return false
		}
	}
	return true
}

// passed reports whether the container after this init container may run: a sidecar must be
// running, any other container must have succeeded.
func passed(c *corev1.Container, v view) bool {
	if isSidecar(c) {
		return v.hasRun()
	}
	return v.endedWell()
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func allReady(all []view) bool {
	for _, v := range all {
		if !v.ready {
			return false
		}
	}
	return true
}

func gatesOpen(s *corev1.PodStatus, gates []corev1.PodReadinessGate) bool {
	for _, g := range gates {
		open := false
		for _, c := range s.Conditions {
			open = open || c.Type == g.ConditionType && c.Status == corev1.ConditionTrue
		}
		if !open {
			return false
		}
	}
	return true
}

func containerStatuses(specs []corev1.Container, views []view) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for i, v := range views {
		c := &specs[i]
		s := corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, State: v.state, LastTerminationState: v.last, RestartCount: v.restarts, Ready: v.ready,
			Started: new(v.state.Running != nil && (v.started || v.id == "")),
		}
		if isSidecar(c) || v.endedWell() {
			s.Ready = v.ready || v.endedWell()
		}
		if v.hasRun() {
			s.ImageID, s.ContainerID = c.Image, "pretended://"+c.Name
		}
		if v.id != "" {
			s.ImageID, s.ContainerID = v.imageID, v.id
		}
		all = append(all, s)
	}
	return all
}

// setCondition preserves the time of a condition that does not change.
func setCondition(s *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason string, now time.Time) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.LastTransitionTime = metav1.NewTime(now)
			}
			c.Status, c.Reason = status, reason
			return
		}
	}
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason,
		LastTransitionTime: metav1.NewTime(now)})
}

// podAddress returns 127.0.0.1 on the host's network, otherwise an address of 10.64.0.0/10 where
// nothing listens.
func podAddress(pod *corev1.Pod) string {
	if pod.Spec.HostNetwork {
		return "127.0.0.1"
	}
	h := hashOf(pod.UID)
	return netip.AddrFrom4([4]byte{10, 64 | byte(h>>16)&0x3f, byte(h >> 8), byte(h)}).String()
}

// loopbackAddress returns the address at which the containers of a pod listen on this machine. Its last three numbers
// are those of podAddress. The API has that one, because it has no endpoints at loopback addresses.
func loopbackAddress(pod *corev1.Pod) string {
	if pod.Spec.HostNetwork {
		return "127.0.0.1"
	}
	return loopbackOf(pod.UID)
}

func loopbackOf(uid types.UID) string {
	h := hashOf(uid)
	return netip.AddrFrom4([4]byte{127, 64 | byte(h>>16)&0x3f, byte(h >> 8), byte(h)}).String()
}

func hashOf(uid types.UID) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return h.Sum32()
}
