import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The profile in AWS_PROFILE if neither file has it: the SDK then reports only missing credentials.
 * Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
 */
export async function missingProfile(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const profile = env['AWS_PROFILE'] ?? '';
  if (profile === '') return undefined;
  const files = [
    env['AWS_CONFIG_FILE'] ?? join(homedir(), '.aws', 'config'),
    env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials'),
  ];
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^\s*\[\s*(?:profile\s+)?(?<name>[^\]]+?)\s*\]/gm)].map(({ groups }) =>
      groups?.['name']?.replaceAll(/["']/g, ''),
    ),
  );
  return names.includes(profile) ? undefined : profile;
}
