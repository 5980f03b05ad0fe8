import { type ClusterNames, namesManagement, quote, repeatedFlags, repeatNames } from '../target.ts';

/** Blocks, indented commands, and spans. */
export const CODE = /```[^]*?```|^ {4,}\S.*|`[^`\n]+`/gm;
const BLOCK = /^```sh\n[^]*?^```$/gm;
const OUR_OPTIONS =
  /(?<=\bcertmarshal .*) --kubeconfig "\$KUBECONFIG"(?<management> --management-kubeconfig "\$MANAGEMENT")?(?<cluster> --cluster "\$CLUSTER")?/g;
const RUNBOOK = /^`certmarshal runbook [a-z-]+(?=`)/;
/** With arguments, and without a kubeconfig of its own. */
const KUBECTL = /(?<=^ *|[`|;&({] ?|xargs )kubectl(?= \S+ \S)(?! (?:config )?--kubeconfig)/gm;
const OF_MANAGEMENT = /(?<=(?<tool>kubectl|clusterctl) (?:.* )?)--kubeconfig "\$MANAGEMENT"/g;
const SETTING = /^(?:# Manages itself: .*\n)?(?<set>(?:export )?(?<name>KUBECONFIG|MANAGEMENT|CLUSTER)=)\S+\n/gm;
const EXAMPLE = /^(?:export )?(?<name>[A-Z_]+)=(?:\S+|"[^"\n]*")$/gm;
/** Not with contexts: kubectl would take the current one. */
const MANAGES_ITSELF = /`?MANAGEMENT=\$KUBECONFIG`?/g;

/**
 * A page with the names of a cluster in its commands, if they are plain words: only those can be put into a command by
 * text alone. What is not given stays an example; a variable that no command
 * has any more is left out.
 */
export function withNames(page: string, given: ClusterNames): string {
  if (repeatNames(given) === '') return page;
  const typed = page.replaceAll(CODE, (code) => (/^```(?!sh)/.test(code) ? code : withOptions(code, given)));
  const isUnused = (name: string) =>
    !new RegExp(`\\$\\{?${name}\\b`).test(blocksOf(typed)) && (name !== 'KUBECONFIG' || given.context !== undefined);
  const values = valuesOf(given);
  const set = typed.replaceAll(BLOCK, (block) =>
    block.replaceAll(SETTING, (all: string, sets: string, name: string) => {
      const value = values.get(name);
      if (value !== undefined) return `${sets}${quote(value)}\n`;
      return isUnused(name) ? '' : all;
    }),
  );
  return given.context === undefined || namesManagement(given)
    ? set
    : set.replaceAll(MANAGES_ITSELF, 'its own --context for kubectl, no --management-kubeconfig');
}

/** The variables of a page that are still examples. */
export function examplesIn(page: string, given: ClusterNames): readonly string[] {
  const values = valuesOf(given);
  const names = [...blocksOf(page).matchAll(EXAMPLE)].map(({ groups }) => groups?.['name'] ?? '');
  return [...new Set(names)].filter((name) => values.get(name) === undefined);
}

function valuesOf({ kubeconfig, managementKubeconfig, cluster }: ClusterNames) {
  return new Map([
    ['KUBECONFIG', kubeconfig],
    ['MANAGEMENT', managementKubeconfig],
    ['CLUSTER', cluster],
  ]);
}

/** Without comments. */
function blocksOf(page: string): string {
  return (page.match(BLOCK) ?? []).join('\n').replaceAll(/^#.*/gm, '');
}

function withOptions(code: string, given: ClusterNames): string {
  const { kubeconfig, context, managementContext, cluster } = given;
  const own = repeatedFlags([['--context', context]]);
  const isOwnGiven = kubeconfig !== undefined || context !== undefined;
  const file = isOwnGiven && kubeconfig === undefined ? '' : ' --kubeconfig "$KUBECONFIG"';
  const ofManagement = (prefix: string, asContext: string) =>
    `${given.managementKubeconfig === undefined ? '' : ` ${prefix}kubeconfig "$MANAGEMENT"`}${repeatedFlags([[asContext, managementContext]])}`;
  // certmarshal takes the file of the cluster where only a context is given.
  const sameFile =
    given.managementKubeconfig === undefined && kubeconfig !== undefined ? '--kubeconfig "$KUBECONFIG"' : '';
  const ours = code
    .replaceAll(OUR_OPTIONS, (_all, management = '', named = '') => {
      const manager =
        management !== '' && namesManagement(given)
          ? ofManagement('--management-', '--management-context')
          : management;
      return `${file}${own}${manager}${isOwnGiven && cluster === undefined ? '' : named}`;
    })
    .replaceAll(KUBECTL, (kubectl) => kubectl + own)
    .replace(RUNBOOK, (runbook) => runbook + repeatNames(given));
  return namesManagement(given)
    ? ours.replaceAll(OF_MANAGEMENT, (_all, tool) =>
        `${sameFile}${ofManagement('--', tool === 'kubectl' ? '--context' : '--kubeconfig-context')}`.trimStart(),
      )
    : ours;
}
