import { basename } from 'node:path';

/** How the user starts this program: what stands before the arguments of a command that is to be pasted. */
export function programName(env: NodeJS.ProcessEnv, entry: string | undefined): string {
  // `npm run` names the script; from a clone there is nothing on the PATH.
  if (isNpmRun(env)) return 'npm run -s certmarshal --';
  // npx sets this event for whatever it runs: docs.npmjs.com, npm-exec.
  if (env['npm_lifecycle_event'] === 'npx') return 'npx certmarshal';
  return entry !== undefined && basename(entry) === 'kubectl-certmarshal' ? 'kubectl certmarshal' : 'certmarshal';
}

/**
 * The directory that relative paths of the command line start in, where that is not the working directory: `npm run` changes to the root of the package.
 * Source: npm, "npm run": INIT_CWD holds the directory that npm was started in.
 */
export function startedIn(env: NodeJS.ProcessEnv): string | undefined {
  return isNpmRun(env) ? env['INIT_CWD'] : undefined;
}

/** Whether it is our own script that npm runs: a script of another package names its files from the root of that package. */
function isNpmRun(env: NodeJS.ProcessEnv): boolean {
  return env['npm_lifecycle_event'] === 'certmarshal';
}

/**
 * Whether this Node.js is one that `engines` of package.json takes: npm only warns.
 *
 * @param engines `>=22.19.0`
 * @param version `22.18.0`
 */
export function isSupported(engines: string, version: string): boolean {
  const [least, leastMinor] = numbersOf(engines.replace(/^>=/, ''));
  const [major, minor] = numbersOf(version);
  return major > least || (major === least && minor >= leastMinor);
}

function numbersOf(version: string): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
}
