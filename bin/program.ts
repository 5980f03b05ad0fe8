import { basename } from 'node:path';

/** How the user starts this program: what stands before the arguments of a command that is to be pasted. */
export function programName(env: NodeJS.ProcessEnv, entry: string | undefined): string {
  // `npm run` names the script; from a clone there is nothing on the PATH.
  if (env['npm_lifecycle_event'] === 'certmarshal') return 'npm run -s certmarshal --';
  return entry !== undefined && basename(entry) === 'kubectl-certmarshal' ? 'kubectl certmarshal' : 'certmarshal';
}

/** A command of ours in a remedy; after `kubectl` it is as somebody types it already. */
const OUR_COMMAND =
  /(?<!kubectl )\bcertmarshal (?=(?:rbac|doctor|credentials|explain|audit|probe|report|runbook|journal|cost|sweep|rollout|recovery)\b)/g;

/** A remedy of ours with its commands as the user has to type them. */
export function pasteable(remedy: string, program: string): string {
  return remedy.replace(OUR_COMMAND, () => `${program} `);
}
