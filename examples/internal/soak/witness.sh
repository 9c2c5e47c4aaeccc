# Writes down in $HOME/witness.log what really happens, beside anything that the product says about it:
#   begin TAG ACTION INSTALL COMPONENT STEP RESOURCE PLANNED TERRAFORM JOB NANOSECONDS
#   end TAG LINES NANOSECONDS
# and prints numbered lines, which have to be in the job's log without a gap. Each record is one write, so that records of several
# witnesses do not mix.
action=$1 install=$2 component=$3 step=$4 resource=$5 planned=$6 lines=$7
tag=$(date +%s%N)-$$
# terraform is our parent: its number and start name the process. Its parent is the stand-in of terraform-exec, whose parent is the
# job process, which knows which attempt it is.
set -- $(cat "/proc/$PPID/stat")
terraform=$PPID-${22}
set -- $(cat "/proc/$4/stat")
job=$(tr '\0' '\n' <"/proc/$4/environ" | sed -n 's|^NUON_JOB_URL=.*/jobs/\(.*\)/attempts/\(.*\)$|\1/\2|p')
printf 'begin %s %s %s %s %s %s %s %s %s %s\n' "$tag" "$action" "$install" "$component" "$step" "$resource" "$planned" "$terraform" "${job:-unknown}" "$(date +%s%N)" >>"$HOME/witness.log"
i=0
while [ "$i" -lt "$lines" ]; do
	i=$((i + 1))
	echo "witness $tag line $i"
	sleep 0.1
done
printf 'end %s %s %s\n' "$tag" "$lines" "$(date +%s%N)" >>"$HOME/witness.log"
