import { basename } from 'node:path';

/** How the user starts this program: what stands before the arguments of a command that is to be pasted. */
export function programName(env: NodeJS.ProcessEnv, entry: string | undefined): string {
  // `npm run` names the script; from a clone there is nothing on the PATH.
  if (env['npm_lifecycle_event'] === 'certmarshal') return 'npm run -s certmarshal --';
  return entry !== undefined && basename(entry) === 'kubectl-certmarshal' ? 'kubectl certmarshal' : 'certmarshal';
}

/** A remedy of ours with its command as the user has to type it. */
export function pasteable(remedy: string, program: string): string {
  return remedy.replaceAll('certmarshal rbac', `${program} rbac`);
}
