import { pythonTool } from './venv.ts';

/** Of the first major version, because the second is not in the registry of Python; of these commands both have the same options. */
const AWS_CLI = { name: 'awscli', version: '1.46.3' } as const;

/** Installs the AWS CLI, once. @returns the `bin` directory of its environment. @throws ToolError */
export const installAwsCli = (): Promise<string> => pythonTool(AWS_CLI);
