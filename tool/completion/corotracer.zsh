#compdef corotracer
# corotracer.zsh - zsh completion: offers what `corotracer --complete` prints.
_corotracer() {
	local -a candidates
	local line rest word
	for line in "${(@f)$("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
		case $line in
		:*) rest=$line ;;
		?*)
			word=${line%%$'\t'*}
			candidates+=("${word//:/\\:}:${line#*$'\t'}") ;;
		esac
	done
	case $rest in
	:files) _files ;;
	:dirs) _files -/ ;;
	:program*)
		shift $((${rest#:program } + 1)) words
		((CURRENT -= ${rest#:program } + 1))
		_normal
		return ;;
	esac
	(($#candidates)) && _describe corotracer candidates
}
if [[ $funcstack[1] == _corotracer ]]; then
	_corotracer "$@"
else
	compdef _corotracer corotracer
fi
