# shellcheck shell=bash
# corotracer.bash - bash completion: offers what `corotracer --complete` prints.
#
# Bash splits words at '=': they are joined again, and only the part behind it is replaced.
_corotracer()
{
	local -a words=() at=()
	local i word line rest='' cur
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((${#words[@]})) && [[ $word == = || ${COMP_WORDS[i - 1]} == = ]]; then
			words[${#words[@]} - 1]+=$word
		else
			words+=("$word")
			at+=("$i")
		fi
	done
	cur=${words[${#words[@]} - 1]}
	COMPREPLY=()
	while IFS= read -r line; do
		case $line in
		:*) rest=$line ;;
		*)
			line=${line%%$'\t'*}
			[[ $cur != -*=* || $COMP_WORDBREAKS != *=* ]] || line=${line#*=}
			COMPREPLY+=("$line")
			;;
		esac
	done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
	case $cur in -*=*) cur=${cur#*=} ;; esac
	case $rest in
	:files) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur") ;;
	:dirs) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$cur") ;;
	:program*)
		i=${at[${rest#:program }]}
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		elif ((i == COMP_CWORD)); then
			mapfile -t COMPREPLY < <(compgen -c -f -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		;;
	esac
}
complete -o filenames -F _corotracer corotracer
