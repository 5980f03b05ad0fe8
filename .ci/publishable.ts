import { readFileSync } from 'node:fs';

/** What a maintainer fills in once, in package.json. */
const FIELDS = ['repository', 'homepage', 'bugs'] as const;

/**
 * Why a package must not be published as it is; empty when it may.
 *
 * @param manifest the fields of package.json
 * @param changelog the text of CHANGELOG.md
 */
export function unpublishable(manifest: Readonly<Record<string, unknown>>, changelog: string): readonly string[] {
  const { version } = manifest;
  const missing = FIELDS.filter((field) => !/^(?:git\+)?https:\/\/[^/]+\/./.test(urlOf(manifest[field])));
  return [
    ...missing.map((field) => `package.json: write ${field}, an https URL. CONTRIBUTING.md, "Release", says which.`),
    ...(changelog.split('\n').some((line) => line.startsWith(`## [${String(version)}] - `))
      ? []
      : [`CHANGELOG.md: write "## [${String(version)}] - YYYY-MM-DD" above what this version changes.`]),
  ];
}

/** npm takes a URL, or an object that has one. */
function urlOf(field: unknown): string {
  if (typeof field === 'object' && field !== null && 'url' in field) return urlOf(field.url);
  return typeof field === 'string' ? field : '';
}

// npm runs it before each publication.
if (import.meta.main) {
  const [manifest = '', changelog = ''] = ['package.json', 'CHANGELOG.md'].map((name) =>
    readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'),
  );
  const why = unpublishable(JSON.parse(manifest), changelog);
  for (const line of why) process.stderr.write(`${line}\n`);
  if (why.length > 0) process.exitCode = 1;
}
